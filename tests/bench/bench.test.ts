import { describe, expect, it } from 'vitest'
import { benchmarkNames, benchmarks } from './all.ts'
import { isMet } from './benchmark.ts'
import { parseBenchOptions } from './options.ts'
import { markdownTable, writePage } from './page.ts'
import { linePlot } from './plot.ts'
import { spreadOf } from './spread.ts'

const isBun = process.versions.bun !== undefined

describe('the benchmarks', () => {
  // They start Bun's servers and sockets.
  for (const name of isBun ? benchmarkNames : []) {
    it(`${name} runs in its tiny form and gives tables and numbers`, async () => {
      const { tables, figures, goals, plots, method } = await benchmarks[name].run('tiny', () => {})
      expect(method).not.toBe('')
      expect(tables.length).toBeGreaterThan(0)
      for (const { rows } of tables) {
        expect(rows.length).toBeGreaterThan(1)
        for (const row of rows) expect(row.length).toBe(rows[0]!.length)
      }
      expect(Object.values(figures).filter((value) => !Number.isFinite(value))).toEqual([])
      for (const { found } of goals) expect(Number.isFinite(found)).toBe(true)
      for (const { svg } of plots) expect(svg.startsWith('<svg ')).toBe(true)
    }, 120_000)
  }

  it('writes a page of what was found, which says which goals were missed and what failed', () => {
    const goal = {
      what: 'speed',
      found: 2,
      unit: 'x',
      limit: 3,
      better: 'higher',
      heldBackBy: 'the cold',
    } as const
    const at = {
      form: 'short',
      date: '2026-11-22',
      commit: 'abc',
      machine: 'm',
      versions: { Bun: '1' },
    } as const
    const findings = {
      method: 'So.',
      tables: [
        {
          title: 'T',
          rows: [
            ['a', 'b'],
            ['c', 'd'],
          ],
        },
      ],
      figures: {},
      goals: [goal],
      plots: [],
      skipped: ['e: why'],
    }
    const page = writePage(at, [
      { name: 'icl', seconds: 1, findings },
      { name: 'jobs', seconds: 1, failure: 'broke' },
    ])
    expect(page).toContain('| speed | 2 x | at least 3 x | missed: the cold |')
    expect(page).toContain('| c | d |')
    expect(page).toContain('- e: why.')
    expect(page).toContain('## Failed\n\n- jobs')
  })

  it('knows when a goal is met', () => {
    const goal = { what: '', unit: '', limit: 10, found: 10 }
    expect(isMet({ ...goal, better: 'higher' })).toBe(true)
    expect(isMet({ ...goal, found: 9, better: 'higher' })).toBe(false)
    expect(isMet({ ...goal, found: 11, better: 'lower' })).toBe(false)
  })

  it('takes the median and the 99th of a hundred', () => {
    const numbers = Array.from({ length: 100 }, (_, index) => 100 - index)
    expect(spreadOf(numbers)).toEqual({ p50: 51, p99: 100, max: 100 })
  })

  it('reads what to run', () => {
    expect(parseBenchOptions(['--only', 'icl,jobs', '--json'])).toMatchObject({
      names: ['icl', 'jobs'],
      form: 'short',
      json: true,
      writes: false,
    })
    expect(parseBenchOptions([])).toMatchObject({ names: benchmarkNames, writes: true })
    expect(() => parseBenchOptions(['--only', 'icl,nothing'])).toThrow('nothing')
  })

  it('writes tables and plots that hold what they were given', () => {
    expect(markdownTable([['x'], ['a|b']])).toContain('a\\|b')
    expect(
      linePlot('P & Q', { x: 'n', y: 'ms' }, [
        {
          name: 's',
          points: [
            [1, 2],
            [10, 3],
          ],
        },
      ]),
    ).toContain('P &amp; Q')
  })
})

import { beforeAll, describe, expect, it } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { embedStandIn } from '../../bench/comparators/embedding-stand-in.ts'
import { gridOfMade, tablesOf } from '../../bench/comparators/grid.ts'
import { madeCases } from '../../bench/comparators/made-cases.ts'
import { type MadeRates, measureMade } from '../../bench/comparators/measure-made.ts'
import type { Rates } from '../../bench/comparators/outcomes.ts'
import { plotRates } from '../../bench/comparators/plot-rates.ts'

// A short form of `npm run bench:comparators`: the same seed gives the same answers, so nothing here hangs on luck.
const lengths = [60, 256] as const
const answers = 30
let found: MadeRates[]

beforeAll(async () => {
  found = await measureMade({
    comparators: [comparators.exact, comparators['similar/1']],
    cases: madeCases,
    lengths,
    answers,
    seed: 1,
    embed: embedStandIn,
  })
}, 60_000)

const ratesOf = (comparator: string, name: string): Rates[] =>
  found
    .filter((one) => one.comparator === comparator && one.case === name)
    .map(({ rates }) => rates)
const matches = (comparator: string, name: string): number[] =>
  ratesOf(comparator, name).map(({ match }) => match.rate)

describe('similar/1 on the made corpus', () => {
  it('says no-match of no honest answer', () => {
    const honest = found.filter((one) => one.honest && one.comparator === 'similar/1')
    expect(honest).toHaveLength(7 * lengths.length)
    expect(honest.filter(({ rates }) => rates['no-match'].rate > 0)).toEqual([])
  })

  it.each([
    ['formatting only', 0.9],
    ['0.1 % of the words replaced', 0.9],
    ['0.5 % of the words replaced', 0.9],
    ['2 % of the words replaced', 0.8],
    ['diverges, then 40 % in other words', 0.8],
  ])('matches most answers that repeat one honestly: %s', (name, least) => {
    for (const rate of matches('similar/1', name)) expect(rate).toBeGreaterThanOrEqual(least)
  })

  it.each([
    'truncated to half',
    'truncated to half, diverged',
    'last sentence only',
    'filler',
    'refusal',
    'copied prompt',
    'weaker model',
    'one number changed',
    'one negation changed',
  ])('hardly ever matches: %s', (name) => {
    expect(ratesOf('similar/1', name)).toHaveLength(lengths.length)
    for (const rate of matches('similar/1', name)) expect(rate).toBeLessThanOrEqual(0.04)
  })

  it('says no-match of filler in most cases', () => {
    for (const rates of ratesOf('similar/1', 'filler')) {
      expect(rates['no-match'].rate).toBeGreaterThan(0.8)
    }
  })

  it('cannot see one fact changed in an answer that diverged honestly, which the documentation says', () => {
    const [, long] = matches('similar/1', 'one number changed, diverged')
    expect(long).toBeGreaterThan(0.5)
  })
})

describe('exact on the made corpus', () => {
  it('matches no answer with a changed word or mark-up', () => {
    for (const name of ['formatting only', 'diverges, then all in other words', 'paraphrase']) {
      for (const rate of matches('exact', name)) expect(rate).toBeLessThanOrEqual(0.1)
    }
  })
})

describe('what the bench shows', () => {
  it('is a table and a plot with a row for every case', () => {
    const grid = gridOfMade(
      'similar/1',
      found.filter(({ comparator }) => comparator === 'similar/1'),
    )
    const text = tablesOf(grid)
    const svg = plotRates(grid.title, grid.columns, grid.rows)
    for (const { name } of madeCases) {
      expect(text).toContain(name)
      expect(svg).toContain(`>${name}</text>`)
    }
    expect(svg).not.toContain('NaN')
    expect(svg.length).toBeLessThan(60 * 1_024)
    // Every element is closed: it is drawn by whatever reads SVG.
    const opened = svg.match(/<(?:svg|text|title)\b/g)?.length
    expect(svg.match(/<\/(?:svg|text|title)>/g)?.length).toBe(opened)
    expect(svg.match(/<(?:rect|line|polyline)\b[^>]*[^/]>/g)).toBeNull()
  })
})

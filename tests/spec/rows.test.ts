import { describe, expect, it } from 'vitest'
import { parseRows, problemsOf, readRows, runNameOf } from './rows.ts'
import { ranIn } from './run-named.ts'

describe('the table of the specification', () => {
  it('names a test that exists, a departure or a reason in each row', async () => {
    expect(await problemsOf(await readRows())).toEqual([])
  })

  it('refuses a row without evidence, out of its order, or with more than its fields', () => {
    for (const line of ['1\t0\twords\t', '1\t0\twords', '2\t0\twords\tD1', '1\t0\twords\tD1\tx']) {
      expect(() => parseRows(line)).toThrow('line 1 is not row 1')
    }
  })

  it('finds tests and departures that do not exist, and departures without a row', async () => {
    const rows = await readRows()
    const other = parseRows(
      [
        '1\t0\ta\tspec/rows > has no such test',
        '2\t0\tb\tspec/none > is in no file',
        '3\t0\tc\tD999',
      ].join('\n'),
    )
    expect(
      await problemsOf([...other, ...rows.slice(3).filter(({ note }) => note !== 'D3')]),
    ).toEqual(
      expect.arrayContaining([
        expect.stringContaining('not 283'),
        'row 1: tests/spec/rows.test.ts has no test named has no such test',
        expect.stringContaining('row 2: '),
        'row 3: docs/specification.md has no departure D999',
        'D3 has no row',
      ]),
    )
  })

  it('takes neither a suite nor another call for a test', async () => {
    const names = ['the table of the specification', 'line 1 is not row 1']
    const lines = names.map((name, index) => `${index + 1}\t0\twords\tspec/rows > ${name}`)
    expect(await problemsOf(parseRows(lines.join('\n')))).toEqual(
      expect.arrayContaining(
        names.map(
          (name, index) => `row ${index + 1}: tests/spec/rows.test.ts has no test named ${name}`,
        ),
      ),
    )
  })

  it('knows a test by its name whatever its table puts in', () => {
    const pattern = new RegExp(`^${runNameOf(`takes ${'$'}{status} (%s) for $name.`)}$`)
    expect(pattern.test('takes 429 (x) for a limit.')).toBe(true)
    expect(pattern.test('takes 429 (x) for a limit')).toBe(false)
  })

  it('tells tests that failed from those that passed, and leaves out what was skipped', () => {
    const of = (name: string, rest: string) =>
      `<testcase name="${name}" classname="" time="0" file="a.test.ts" line="1" assertions="0"${rest}`
    const xml = [
      of('a &lt;b&gt;', ' />'),
      of('c', '>\n<skipped />\n</testcase>'),
      of('d', '>\n<failure type="AssertionError" />\n</testcase>'),
    ].join('\n')
    expect(ranIn(xml)).toEqual([
      { file: 'a.test.ts', name: 'a <b>', passed: true },
      { file: 'a.test.ts', name: 'd', passed: false },
    ])
  })
})

import { describe, expect, it } from 'vitest'

type Counts = { readonly passed: number; readonly failed: number; readonly skipped?: number }
type CountsModule = {
  readonly countsLine: (counts: Counts) => string
  readonly skippedLines: (xml: string) => readonly string[]
  readonly countsOfReport: (xml: string) => Counts | undefined
  readonly failuresOfReport: (
    xml: string,
  ) => readonly { readonly file: string; readonly name: string }[]
}

const file = new URL('../../scripts/counts.mjs', import.meta.url).href
const { countsLine, countsOfReport, failuresOfReport, skippedLines } = (await import(
  file
)) as CountsModule

describe('the count of a test run', () => {
  it('is read from the report', () => {
    const report = '<?xml version="1.0"?><testsuites name="x" tests="9" failures="2" skipped="3">'
    expect(countsOfReport(report)).toEqual({ passed: 4, failed: 2, skipped: 3 })
    expect(countsOfReport('')).toBeUndefined()
  })

  it('is one line', () => {
    expect(countsLine({ passed: 4, failed: 0 })).toBe('4 passed, 0 failed')
    expect(countsLine({ passed: 4, failed: 1, skipped: 2 })).toBe('4 passed, 1 failed')
  })

  it('comes after what was skipped, and why', () => {
    const report = `<testsuite name="a &quot;b&quot;">
      <testcase name="no server &amp; no tool" classname="a &quot;b&quot;" time="0" assertions="0">
        <skipped />
      </testcase>
      <testcase name="passes" classname="c" time="0.1" assertions="1" />
      <testcase name="fails" classname="c" time="0.1" assertions="1">
        <failure type="AssertionError" />
      </testcase>
      <testcase name="is left out" classname="c" time="0" assertions="0">
        <skipped />`
    expect(skippedLines(report)).toEqual([
      'skipped: a "b" > no server & no tool',
      'skipped: c > is left out',
      '2 skipped',
    ])
    expect(skippedLines('<testsuites></testsuites>')).toEqual([])
  })

  it('names each failure with its file, so that it can be run once more', () => {
    const report = `
      <testcase name="passes" classname="c" file="tests/a.test.ts" line="1" />
      <testcase name="fails &lt;once&gt;" classname="c" time="0" file="tests/b.test.ts" line="2">
        <failure type="AssertionError" message="expected">text</failure>
      </testcase>
      <testcase name="left out" classname="c" file="tests/b.test.ts" line="3">
        <skipped />
      </testcase>`
    expect(failuresOfReport(report)).toEqual([
      { file: 'tests/b.test.ts', name: 'c > fails <once>' },
    ])
    expect(failuresOfReport('')).toEqual([])
  })
})

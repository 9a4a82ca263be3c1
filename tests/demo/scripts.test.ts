import { describe, expect, it } from 'vitest'

type Counts = { readonly passed: number; readonly failed: number; readonly skipped?: number }
type CountsModule = {
  readonly countsLine: (counts: Counts) => string
  readonly countsOfReport: (xml: string) => Counts | undefined
}

const file = new URL('../../scripts/counts.mjs', import.meta.url).href
const { countsLine, countsOfReport } = (await import(file)) as CountsModule

describe('the count of a test run', () => {
  it('is read from the report', () => {
    const report = '<?xml version="1.0"?><testsuites name="x" tests="9" failures="2" skipped="3">'
    expect(countsOfReport(report)).toEqual({ passed: 4, failed: 2, skipped: 3 })
    expect(countsOfReport('')).toBeUndefined()
  })

  it('is one line', () => {
    expect(countsLine({ passed: 4, failed: 0 })).toBe('4 passed, 0 failed')
    expect(countsLine({ passed: 4, failed: 1, skipped: 2 })).toBe('4 passed, 1 failed, 2 skipped')
  })
})

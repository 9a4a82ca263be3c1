import { describe, expect, it } from 'vitest'
import { coverageOf } from './coverage.ts'
import { type RunReport, runInvariants } from './run.ts'

const seed = 20_261_121
const calls = 4_000
const limitMs = 900_000

describe('random calls of all contracts', () => {
  let report: RunReport
  it(
    'change what they should, and nothing else',
    async () => {
      const started = performance.now()
      report = await runInvariants({ seed, calls })
      const { blocks, days, keys, results } = report
      const seconds = ((performance.now() - started) / 1_000).toFixed(1)
      process.stdout.write(
        `invariants: ${calls} calls in ${blocks} blocks and ${Math.round(days)} days, ${keys} keys, ${results} results, ${seconds} s\n`,
      )
      expect(report.calls).toBe(calls)
    },
    limitMs,
  )

  it('meet every function, event and error that the ABIs have', () => {
    const { all, missing } = coverageOf(report)
    process.stdout.write(
      `coverage: ${all.length - missing.length} of ${all.length} functions, events and errors\n`,
    )
    // Only the constructor can revert with it: constructors.test.ts.
    expect(missing).toEqual(['error ResultRegistry.InvalidHolder'])
  })
})

import { describe, expect, it } from 'vitest'
import { coverageOf } from './coverage.ts'
import { mutants, plant } from './mutants.ts'
import { InvariantBroken, type RunReport, runInvariants } from './run.ts'

const seed = 20_261_121
const calls = 10_000
const limitMs = 300_000

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

describe('a mistake in a contract', () => {
  const planted = [
    'anybody-grants',
    'slash-is-not-subtracted',
    'results-are-overwritten',
    'roles-move-in-one-step',
  ]
  for (const name of planted) {
    it(
      `is found by the same calls: ${name}`,
      async () => {
        const mutant = mutants.find((one) => one.name === name)
        if (mutant === undefined) throw new Error(`there is no mutant ${name}`)
        const run = runInvariants({ seed, calls, artifacts: await plant(mutant) })
        const error = await run.catch((thrown: unknown) => thrown)
        expect(error).toBeInstanceOf(InvariantBroken)
        expect((error as Error).message).toContain(`--seed ${seed}`)
      },
      limitMs,
    )
  }
})

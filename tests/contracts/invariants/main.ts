import { z } from 'zod'
import { option, WholeNumber } from '../../../lib/host/program/option.ts'
import { print, runOnly } from '../../run-program.ts'
import { type RunReport, runInvariants } from './run.ts'

const tellEvery = 10_000

const secondsSince = (started: number) => ((performance.now() - started) / 1_000).toFixed(1)

const tell = (report: RunReport, seconds: string) => {
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, times]) => `${name} ${times}`)
      .join(', ')
  print(`done: ${list(report.done)}`)
  print(`events: ${list(report.events)}`)
  print(`errors: ${list(report.errors)}`)
  print(
    `${report.calls} calls in ${report.blocks} blocks and ${Math.round(report.days)} days, ${report.keys} keys, ${report.results} results, ${seconds} s: everything held`,
  )
}

await runOnly('npm run contracts:fuzz --', {
  summary: 'Call the contracts at random and check after each call that their invariants hold.',
  options: z.object({
    calls: option(WholeNumber(1, 1_000_000_000).default(10_000), 'N', 'How many'),
    seed: option(
      WholeNumber(0, 999_999_999).optional(),
      'N',
      'What decides them (default: of the clock)',
    ),
  }),
  run: async ({ calls, seed = Date.now() % 1_000_000 }) => {
    print(`seed ${seed}, ${calls} calls`)
    const started = performance.now()
    let told = 0
    const onProgress = (made: number) => {
      if (made - told < tellEvery) return
      told = made
      print(`${made} calls, ${secondsSince(started)} s`)
    }
    tell(await runInvariants({ seed, calls, onProgress }), secondsSince(started))
  },
})

import { z } from 'zod'
import { option, WholeNumber } from '../../../lib/host/program/option.ts'
import { runOnly } from '../../../lib/host/program/run-program.ts'
import { type RunReport, runInvariants } from './run.ts'

const tellEvery = 10_000

const say = (line: string) => process.stdout.write(`${line}\n`)

const secondsSince = (started: number) => ((performance.now() - started) / 1_000).toFixed(1)

const tell = (report: RunReport, seconds: string) => {
  const list = (counts: ReadonlyMap<string, number>) =>
    [...counts]
      .sort(([a], [b]) => a.localeCompare(b))
      .map(([name, times]) => `${name} ${times}`)
      .join(', ')
  say(`done: ${list(report.done)}`)
  say(`events: ${list(report.events)}`)
  say(`errors: ${list(report.errors)}`)
  say(
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
    say(`seed ${seed}, ${calls} calls`)
    const started = performance.now()
    let told = 0
    const onProgress = (made: number) => {
      if (made - told < tellEvery) return
      told = made
      say(`${made} calls, ${secondsSince(started)} s`)
    }
    tell(await runInvariants({ seed, calls, onProgress }), secondsSince(started))
    return 0
  },
})

import { readCommandLine, wholeNumber } from '../../command-line.ts'
import { type RunReport, runInvariants } from './run.ts'

const tellEvery = 10_000

const usage = `npm run contracts:fuzz -- [--calls N] [--seed N]

Calls the contracts at random and checks after each call that their invariants hold.

  --calls N  (10000)
  --seed N   (of the clock)
`
const values = readCommandLine(usage, {
  calls: { type: 'string', default: '10000' },
  seed: { type: 'string', default: String(Date.now() % 1_000_000) },
})
const calls = wholeNumber('calls', values.calls)
const seed = wholeNumber('seed', values.seed, 0)
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

try {
  say(`seed ${seed}, ${calls} calls`)
  const started = performance.now()
  let told = 0
  const onProgress = (made: number) => {
    if (made - told < tellEvery) return
    told = made
    say(`${made} calls, ${secondsSince(started)} s`)
  }
  tell(await runInvariants({ seed, calls, onProgress }), secondsSince(started))
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

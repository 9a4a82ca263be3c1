import { parseArgs } from 'node:util'
import { type RunReport, runInvariants } from './run.ts'

const tellEvery = 10_000

const { values } = parseArgs({
  options: {
    calls: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
})
const [calls, seed] = [Number(values.calls), Number(values.seed)]
// With no number not one call would be made, and everything would have held.
for (const [name, value, least] of [
  ['calls', calls, 1],
  ['seed', seed, 0],
] as const) {
  if (Number.isSafeInteger(value) && value >= least) continue
  process.stderr.write(`--${name} must be a whole number from ${least} on\n`)
  process.exit(2)
}
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

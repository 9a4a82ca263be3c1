import { readCommandLine, refuseOptions, wholeNumber } from '../command-line.ts'
import type { StoreKind } from './parameters.ts'
import { type Outcome, simulate, storeOf } from './simulate.ts'
import { lineOf, type StoryEvent } from './story.ts'
import { describeTotals, noTotals, withOutcome } from './totals.ts'

const usage = `npm run simulate -- [--seed N | --seeds N | --minutes N]

Plays the service in virtual time, with faults drawn from a seed. Ends with 1 when a promise is
broken.

  --seed N      tells the story of one seed (1)
  --seeds N     runs so many seeds
  --minutes N   runs seeds until the time is over
  --from N      the first of many seeds (1)
  --store NAME  memory, sqlite or mirror (the seed decides)
  --json        one line at the end, for machines
`
const values = readCommandLine(usage, {
  seed: { type: 'string', default: '1' },
  seeds: { type: 'string' },
  from: { type: 'string', default: '1' },
  minutes: { type: 'string' },
  store: { type: 'string' },
  json: { type: 'boolean', default: false },
})
const shownEvents = 50
const json = values.json
const print = (text: string) => void process.stdout.write(`${text}\n`)
const tell = (text: string) => {
  if (!json) print(text)
}
const storeFor = (seed: number): StoreKind => {
  if (values.store === undefined) return storeOf(seed)
  const { store } = values
  if (store === 'memory' || store === 'sqlite' || store === 'mirror') return store
  return refuseOptions(`--store takes memory, sqlite or mirror, not ${store}`)
}

function tellFailure(outcome: Outcome): void {
  const { seed, store, violations, events } = outcome
  process.stderr.write(
    [
      `\nseed ${seed} (${store}) broke ${violations.length} promises:`,
      ...violations.map((what) => `  ${what}`),
      `the last ${shownEvents} events:`,
      ...events.slice(-shownEvents).map(lineOf),
      `again: npm run simulate -- --seed ${seed} --store ${store}`,
      '',
    ].join('\n'),
  )
}

// In processor time, which load does not spend. A seed that waits for something that never comes spends none at all.
const longestSeedMs = 300_000
const lookMs = 120_000
const idleMs = 200

/** Calls back when the process has worked for too long, or has stopped working. */
function watchWork(end: (why: string) => void): { readonly stop: () => void } {
  const usedMs = (since?: NodeJS.CpuUsage) => {
    const { system, user } = process.cpuUsage(since)
    return (system + user) / 1000
  }
  const start = process.cpuUsage()
  let before = 0
  const timer = setInterval(() => {
    const used = usedMs(start)
    if (used > longestSeedMs) end(`it did not end within ${longestSeedMs / 1000} s of work`)
    if (used - before < idleMs) end(`it did not work for ${lookMs / 1000} s`)
    before = used
  }, lookMs)
  return { stop: () => clearInterval(timer) }
}

/** Simulates one seed; when it does not end, or something fails that nobody waits for, the process ends and says in which seed. */
async function simulateOr(seed: number, onEvent?: (event: StoryEvent) => void): Promise<Outcome> {
  const store = storeFor(seed)
  const end = (why: unknown) => {
    process.stderr.write(`\nseed ${seed} (${store}): ${why instanceof Error ? why.stack : why}\n`)
    process.stderr.write(`again: npm run simulate -- --seed ${seed} --store ${store}\n`)
    process.exit(1)
  }
  const work = watchWork(end)
  process.on('unhandledRejection', end).on('uncaughtException', end)
  try {
    return await simulate(seed, { store, ...(onEvent && { onEvent }) })
  } finally {
    work.stop()
    process.off('unhandledRejection', end).off('uncaughtException', end)
  }
}

async function one(seed: number): Promise<boolean> {
  const onEvent = (event: StoryEvent) => tell(lineOf(event))
  const outcome = await simulateOr(seed, onEvent)
  const { events: _, ...rest } = outcome
  if (json) print(JSON.stringify(rest))
  tell(`\n${JSON.stringify(outcome.parameters)}`)
  tell(describeTotals(withOutcome(noTotals, outcome)))
  tell(`hash ${outcome.hash}, ${outcome.violations.length} violations`)
  if (outcome.violations.length > 0) tellFailure(outcome)
  return outcome.violations.length === 0
}

async function many(from: number, isEnough: (done: number) => boolean): Promise<boolean> {
  let totals = noTotals
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  let toldAt = 0
  while (!isEnough(totals.seeds)) {
    const seed = from + totals.seeds
    const outcome = await simulateOr(seed)
    totals = withOutcome(totals, outcome)
    if (outcome.violations.length > 0) tellFailure(outcome)
    if (seconds() - toldAt < 5) continue
    toldAt = seconds()
    const { virtualHours, violations, seeds } = totals
    tell(`${seeds} seeds, ${virtualHours.toFixed(1)} virtual hours, ${violations} violations`)
  }
  if (json) print(JSON.stringify({ from, ...totals, seconds: Math.round(seconds()) }))
  tell(`${describeTotals(totals)}\n${Math.round(seconds())} s`)
  tell(`${totals.seeds} seeds, ${totals.violations} violations`)
  return totals.violations === 0
}

async function runAll(): Promise<boolean> {
  const from = wholeNumber('from', values.from)
  if (values.minutes !== undefined) {
    const endsAt = performance.now() + wholeNumber('minutes', values.minutes) * 60_000
    return await many(from, () => performance.now() > endsAt)
  }
  if (values.seeds === undefined) return await one(wholeNumber('seed', values.seed))
  const seeds = wholeNumber('seeds', values.seeds)
  return await many(from, (done) => done >= seeds)
}

process.exit((await runAll()) ? 0 : 1)

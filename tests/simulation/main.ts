import { z } from 'zod'
import { json, OneOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { print, runOnly } from '../run-program.ts'
import type { StoreKind } from './parameters.ts'
import { type Outcome, simulate, storeOf } from './simulate.ts'
import { lineOf, type StoryEvent } from './story.ts'
import { describeTotals, noTotals, withOutcome } from './totals.ts'

const shownEvents = 50
/** How seeds are played, and whether only the last line is printed, as JSON. */
type How = { readonly store?: StoreKind | undefined; readonly json: boolean }

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
async function simulateOr(
  seed: number,
  { store = storeOf(seed) }: How,
  onEvent?: (event: StoryEvent) => void,
): Promise<Outcome> {
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

async function one(seed: number, how: How): Promise<boolean> {
  const tell = how.json ? () => {} : print
  const onEvent = (event: StoryEvent) => tell(lineOf(event))
  const outcome = await simulateOr(seed, how, onEvent)
  const { events: _, ...rest } = outcome
  if (how.json) print(JSON.stringify(rest))
  tell(`\n${JSON.stringify(outcome.parameters)}`)
  tell(describeTotals(withOutcome(noTotals, outcome)))
  tell(`hash ${outcome.hash}, ${outcome.violations.length} violations`)
  if (outcome.violations.length > 0) tellFailure(outcome)
  return outcome.violations.length === 0
}

async function many(from: number, how: How, isEnough: (done: number) => boolean): Promise<boolean> {
  const tell = how.json ? () => {} : print
  let totals = noTotals
  const startedAt = performance.now()
  const seconds = () => (performance.now() - startedAt) / 1000
  let toldAt = 0
  while (!isEnough(totals.seeds)) {
    const seed = from + totals.seeds
    const outcome = await simulateOr(seed, how)
    totals = withOutcome(totals, outcome)
    if (outcome.violations.length > 0) tellFailure(outcome)
    if (seconds() - toldAt < 5) continue
    toldAt = seconds()
    const { virtualHours, violations, seeds } = totals
    tell(`${seeds} seeds, ${virtualHours.toFixed(1)} virtual hours, ${violations} violations`)
  }
  if (how.json) print(JSON.stringify({ from, ...totals, seconds: Math.round(seconds()) }))
  tell(`${describeTotals(totals)}\n${Math.round(seconds())} s`)
  tell(`${totals.seeds} seeds, ${totals.violations} violations`)
  return totals.violations === 0
}

const Seed = WholeNumber(1, 999_999_999)

await runOnly('npm run simulate --', {
  summary:
    'Play the service in virtual time, with faults drawn from a seed. Ends with 1 when a promise is broken.',
  options: z.object({
    seed: option(Seed.default(1), 'N', 'Tell the story of one seed'),
    seeds: option(WholeNumber(1, 999_999_999).optional(), 'N', 'Run so many seeds'),
    minutes: option(WholeNumber(1, 100_000).optional(), 'N', 'Run seeds until the time is over'),
    from: option(Seed.default(1), 'N', 'The first of many seeds'),
    store: option(
      OneOf(['memory', 'sqlite', 'mirror']).optional(),
      'NAME',
      'Where the ICL keeps its state (default: the seed decides)',
    ),
    json,
  }),
  run: async ({ seed, seeds, minutes, from, ...how }) => {
    const endsAt = performance.now() + (minutes ?? 0) * 60_000
    const isSound =
      minutes !== undefined
        ? await many(from, how, () => performance.now() > endsAt)
        : seeds !== undefined
          ? await many(from, how, (done) => done >= seeds)
          : await one(seed, how)
    return isSound ? 0 : 1
  },
})

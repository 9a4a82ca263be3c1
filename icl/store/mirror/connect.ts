import { type Clock, elapsedSince } from '../../../lib/clock.ts'
import { withDeadline } from '../../../lib/deadline.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { Log } from '../../telemetry/log.ts'
import {
  beatMs,
  type Follower,
  lockedBy,
  type Owner,
  type Plan,
  planFor,
  watchMs,
} from './follower.ts'
import type { Ledger } from './ledger.ts'

/** What a mirror needs to reach its database; times in milliseconds. */
export type Connecting = {
  readonly follower: Follower
  /** Where the file is, for the operators of other ICLs. */
  readonly name: string
  /** Why there is no file, when the store is in memory. */
  readonly whyInMemory?: string | undefined
  readonly clock: Clock
  readonly log: Log
  /** How long one call to the database may take. */
  readonly callMs?: number
}

const defaultCallMs = 10_000

/** Returns the error for a call that only works later. */
export const unavailable = (why: string): ProblemError =>
  new ProblemError('unavailable', why, { retryAfterSeconds: 5 })

/** Tells clients of a store that may not be used. */
export const notServed = 'The ICL cannot use its database at present: its operator sees why'

/** Runs calls of the database until the signal aborts, each of which throws `unavailable` when it takes too long. */
export const callerOf =
  ({ clock, callMs = defaultCallMs }: Connecting, signal?: AbortSignal) =>
  <T>(work: () => Promise<T>): Promise<T> => {
    const late = () => unavailable(`no answer within ${callMs / 1000} s`)
    return withDeadline(clock, callMs, signal, late, work)
  }

/** Yields what a call yields, each within the time of one call, however much there is. */
export async function* inTime<T>(
  call: ReturnType<typeof callerOf>,
  all: AsyncIterable<T>,
): AsyncGenerator<T> {
  const items = all[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await call(() => items.next())
    if (done) return
    yield value
  }
}

/**
 * Makes this process the owner of the database, and fills the file or prepares to send everything where that is needed. Calls
 * `onWatching` when it has to see first whether another owner runs. Throws SvcError when it may not, ProblemError while the database is away.
 */
export async function connect(
  options: Connecting,
  ledger: Ledger,
  signal: AbortSignal,
  onWatching: (other: Owner) => void,
): Promise<Owner> {
  const { follower, log } = options
  const call = callerOf(options, signal)
  const scanned = () => inTime(call, follower.scan())
  const isEmpty = async () => (await scanned().next()).done === true
  const decide = async (found: Owner | undefined): Promise<Plan> => {
    const plan = planFor(ledger.facts(), found, found === undefined && (await isEmpty()))
    if (plan !== 'watch' || !found) return plan
    onWatching(found)
    await options.clock.sleep(watchMs, signal)
    if ((await call(() => follower.owner()))?.beats !== found.beats) throw lockedBy(found)
    return planFor(ledger.facts(), { ...found, isFree: true }, false)
  }
  const found = await call(() => follower.owner())
  const plan = await decide(found)
  const head = found?.head ?? 0
  if (plan === 'fill') await ledger.raise(head)
  if (plan === 'resend') {
    log.error('The database has lost records: everything is sent again')
    await ledger.noteAll(head)
  }
  const mine = ownerBy(options, ledger, found)
  if (!(await call(() => follower.claim(found, mine)))) throw unavailable('it changes hands')
  if (!ledger.isFilled()) {
    log.info('The file is filled from the database')
    await ledger.fill(beating(options, mine, scanned()))
  }
  return mine
}

/** Yields the same, and shows others that this owner runs. Throws `unavailable` once the database has another. */
export async function* beating<T>(
  options: Connecting,
  mine: Owner,
  all: AsyncIterable<T>,
): AsyncGenerator<T> {
  const { clock, follower } = options
  const heads = { from: mine.head, to: mine.head }
  let beatAt = clock.monotonic()
  for await (const item of all) {
    if (elapsedSince(clock, beatAt) >= beatMs) {
      beatAt = clock.monotonic()
      const isMine = await callerOf(options)(() => follower.put(mine, heads, []))
      if (!isMine) throw unavailable('it has another owner')
    }
    yield item
  }
}

function ownerBy({ name, whyInMemory }: Connecting, ledger: Ledger, found?: Owner): Owner {
  const { file, marks } = ledger.facts()
  return {
    ...{ file, name, mark: marks.at(-1)?.mark ?? '', isFree: false },
    kind: whyInMemory === undefined ? 'file' : 'memory',
    head: found?.head ?? 0,
    beats: (found?.beats ?? 0) + 1,
  }
}

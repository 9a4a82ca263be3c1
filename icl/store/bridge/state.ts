import type { Clock, MonotonicMs } from '../../../lib/clock.ts'
import { withDeadline } from '../../../lib/deadline.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { Random } from '../../../lib/random.ts'
import { createKeyedMutex, type KeyedMutex } from '../../async/mutex.ts'
import { hasDatabaseLock, type LockHolder } from '../../records/database-lock.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Store, Write } from '../store.ts'
import type { LocalCopy } from './local-copy.ts'
import type { Pace } from './pace.ts'

/** What a bridge is made of; times in milliseconds. */
export type BridgeOptions = {
  /** Opens the database; throws ProblemError `unavailable` while it cannot be reached, and is then tried again. */
  readonly open: () => Promise<Store>
  /** Without one, everything is `unavailable` while the database is away. */
  readonly copy: LocalCopy | undefined
  /** The same after a restart with the same copy. */
  readonly replicaId: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** How long one call to the database may take. */
  readonly callMs?: number
}

/** What a bridge knows at a time. */
export type Bridge = {
  readonly options: BridgeOptions
  readonly mutex: KeyedMutex
  primary: Store | undefined
  /** `stuck`: the copy is of another database. */
  mode: 'connected' | 'away' | 'stuck'
  /** Counts changes of the mode: what was asked in an earlier one says nothing of this one. */
  era: number
  /** The copy has everything but blobs. */
  isWhole: boolean
  /** When the copy began to be filled last. */
  filledAt: MonotonicMs | undefined
  /** When the database was last seen to be locked for this ICL. */
  lockSeenAt: MonotonicMs | undefined
  /** Why this ICL does not get the lock; undefined when it has it, or could not ask yet. */
  lockedOut: string | undefined
  /** The copy is of a time from which on this ICL had the lock. */
  isContinuous: boolean
  /** What was saved since the copy began to be filled: newer than what is read of it. */
  touched: Set<string> | undefined
  /** Saves that were sent to the database and not answered yet, by their id. */
  readonly sending: Map<string, readonly Write[]>
  /** What is still to be done in the copy after the database has answered, by the id of the save: the disk did not take it. */
  readonly unsettled: Map<string, () => Promise<void>>
  /** While it is there, saves wait for a change of the mode. */
  gate: Promise<void> | undefined
  /** Holds saves back while others are replayed. */
  pace: Pace | undefined
  /** Changes that have begun. */
  readonly saves: Set<Promise<unknown>>
  /** Those of them that are judged here. */
  readonly locals: Set<Promise<unknown>>
  /** No change begins any more: the lock is about to be given back. */
  isClosed: boolean
  /** Ends the current wait of the background loop. */
  skipWait: () => void
}

const defaultCallMs = 10_000
const retryAfterSeconds = 5

/** Why nothing is saved at the end. */
export const stopping = 'the ICL is stopping'

/** The state before anything was reached. */
export const createState = (options: BridgeOptions): Bridge => ({
  options,
  mutex: createKeyedMutex(),
  primary: undefined,
  mode: 'away',
  era: 0,
  isWhole: false,
  filledAt: undefined,
  lockSeenAt: undefined,
  lockedOut: undefined,
  isContinuous: false,
  touched: undefined,
  sending: new Map(),
  unsettled: new Map(),
  gate: undefined,
  pace: undefined,
  saves: new Set(),
  locals: new Set(),
  isClosed: false,
  skipWait: () => {},
})

/** True when an error says that the database was not reached, and nothing of what became of the call. */
export const isAway = (error: unknown): boolean =>
  error instanceof ProblemError && error.code === 'unavailable'

/** The refusal of what only the database can answer or do, with what keeps this ICL from it. */
export function onlyInDatabase(bridge: Bridge, what = 'This'): ProblemError {
  const why = whyKeptAway(bridge)
  const text = why === undefined ? ', which does not respond' : `: ${why}`
  return new ProblemError('unavailable', `${what} needs the database${text}`, { retryAfterSeconds })
}

/** The refusal of a save. */
export const notSaved = (why: string | undefined): ProblemError =>
  new ProblemError('unavailable', `Nothing can be saved: ${why}`, { retryAfterSeconds })

/** Waits for the database for a limited time. */
export function inTime<T>(bridge: Bridge, work: () => Promise<T>): Promise<T> {
  const { clock, callMs = defaultCallMs } = bridge.options
  return withDeadline(clock, callMs, undefined, () => onlyInDatabase(bridge), work)
}

/** Runs work that is among what is under way until it ends. */
export async function tracked<T>(underWay: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  underWay.add(work)
  try {
    return await work
  } finally {
    underWay.delete(work)
  }
}

/** Who this ICL is to the lock of its database: only with a local copy it can be alone. */
export const lockHolderOf = ({ options }: Bridge): LockHolder => ({
  id: options.replicaId,
  isExclusive: options.copy !== undefined,
})

/** Looks whether this ICL still has the lock; nothing is saved any more when it does not. Throws as the database does. */
export async function checkLock(bridge: Bridge): Promise<void> {
  const { clock } = bridge.options
  const { era } = bridge
  const at = clock.monotonic()
  const holder = lockHolderOf(bridge)
  if (await askPrimary(bridge, (store) => hasDatabaseLock(store, holder, clock.now()))) {
    bridge.lockSeenAt = at
    return
  }
  if (bridge.era !== era) return
  const why = 'Another ICL has the lock of this database'
  bridge.lockedOut = why
  noteAway(bridge, era, new ProblemError('unavailable', why), 'The database is locked')
}

/** Asks the database, for a limited time. */
export async function askPrimary<T>(bridge: Bridge, ask: (store: Store) => Promise<T>): Promise<T> {
  const { primary } = bridge
  if (!primary) throw onlyInDatabase(bridge)
  return inTime(bridge, () => ask(primary))
}

/** Brings the copy up to what the database has answered, with the next commit; what the disk does not take is done before anything else is. */
export function settleSoon({ unsettled }: Bridge, id: string, settle: () => Promise<void>): void {
  void settle().catch(() => unsettled.set(id, settle))
}

/** Does what the disk did not take; throws while the disk does not take it. */
export async function settleAll({ unsettled }: Bridge): Promise<void> {
  await Promise.all(
    [...unsettled].map(async ([id, settle]) => {
      await settle()
      unsettled.delete(id)
    }),
  )
}

/** Notes that the database does not respond, unless that was noted since `era`. */
export function noteAway(
  bridge: Bridge,
  era: number,
  error: unknown,
  message = 'The database does not respond',
): void {
  const { options, mode } = bridge
  if (bridge.era !== era || mode !== 'connected') return
  options.copy?.setFlushed(true)
  bridge.mode = 'away'
  bridge.era++
  const whyNot = whyNotWorking(bridge)
  options.log.warn(message, { error: errorMessage(error), whyNot })
  bridge.skipWait()
}

/** What keeps this ICL from a database that may well respond; undefined when nothing does. */
function whyKeptAway({ mode, lockedOut, isClosed }: Bridge): string | undefined {
  if (isClosed) return stopping
  if (lockedOut !== undefined) return lockedOut
  return mode === 'stuck' ? 'the database is not the one that the local copy is of' : undefined
}

/** Why nothing is done while the database is away; undefined when the copy takes its place. */
export function whyNotWorking(bridge: Bridge): string | undefined {
  const { mode, options } = bridge
  if (mode === 'connected') return undefined
  const why = whyKeptAway(bridge)
  if (why !== undefined) return why
  if (!options.copy) return 'the database does not respond, and there is no local copy of it'
  const { writable, reasons } = options.copy.store.status()
  return writable ? undefined : `the local copy takes no saves: ${reasons.join('; ')}`
}

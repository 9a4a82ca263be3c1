import type { Clock, MonotonicMs } from '../../../lib/clock.ts'
import { withDeadline } from '../../../lib/deadline.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { Random } from '../../../lib/random.ts'
import { createKeyedMutex } from '../../async/mutex.ts'
import { hasDatabaseLock, type LockHolder } from '../../records/database-lock.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Store } from '../store.ts'
import type { LocalCopy } from './local-copy.ts'
import type { Pace } from './pace.ts'

/** The parts and settings of a bridge; times in milliseconds. */
export type BridgeOptions = {
  /** Opens the database. Throws ProblemError `unavailable` while it cannot be reached; the bridge then retries. */
  readonly open: () => Promise<Store>
  /** The local copy. Without one, every call throws `unavailable` while the database is away. */
  readonly copy: LocalCopy | undefined
  /** The id of this replica, the same after a restart with the same copy. */
  readonly replicaId: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** How long one call to the database may take. */
  readonly callMs?: number
}

const defaultCallMs = 10_000
const retryAfterSeconds = 5

/** Why saves are refused during a stop. */
export const stopping = 'the ICL is stopping'

/** Returns the state before the first connection. */
export const createState = (options: BridgeOptions) => ({
  options,
  mutex: createKeyedMutex(),
  primary: undefined as Store | undefined,
  /** `stuck`: the copy is of another database. */
  mode: 'away' as 'connected' | 'away' | 'stuck',
  /** Counts changes of the mode: the outcome of a call from an earlier era says nothing about the current one. */
  era: 0,
  /** The copy has everything but blobs. */
  isWhole: false as boolean,
  /** When the last fill of the copy began. */
  filledAt: undefined as MonotonicMs | undefined,
  /** When this ICL last saw that it has the lock of the database. */
  lockSeenAt: undefined as MonotonicMs | undefined,
  /** Why this ICL does not get the lock; undefined when it has the lock or could not ask yet. */
  lockedOut: undefined as string | undefined,
  /** True when this ICL has had the lock ever since the copy was last filled. */
  isContinuous: false as boolean,
  /** Changes of the copy that the disk rejected after the database had answered, by the id of the save. */
  unsettled: new Map<string, () => Promise<void>>(),
  /** While set, saves wait: the mode is about to change. */
  gate: undefined as Promise<void> | undefined,
  /** Slows saves down during a replay. */
  pace: undefined as Pace | undefined,
  /** Changes that have begun and not ended. */
  saves: new Set<Promise<unknown>>(),
  /** Saves among them that the copy judges. */
  locals: new Set<Promise<unknown>>(),
  /** True once no change may begin, because the lock is about to be released. */
  isClosed: false as boolean,
  /** Ends the current sleep of the background loop. */
  skipWait: () => {},
})

/** The state of a bridge. */
export type Bridge = ReturnType<typeof createState>

/** True when an error says that the database did not answer, so that the outcome of the call is unknown. */
export const isAway = (error: unknown): boolean =>
  error instanceof ProblemError && error.code === 'unavailable'

/** Returns the error for a call that only the database can serve, with the reason why it cannot. */
export function onlyInDatabase(bridge: Bridge, what = 'This'): ProblemError {
  const why = whyKeptAway(bridge)
  const text = why === undefined ? ', which does not respond' : `: ${why}`
  return new ProblemError('unavailable', `${what} needs the database${text}`, { retryAfterSeconds })
}

/** Returns the error for a refused save. */
export const notSaved = (why: string | undefined): ProblemError =>
  new ProblemError('unavailable', `Nothing can be saved: ${why}`, { retryAfterSeconds })

/** Runs a call of the database; throws `unavailable` after `callMs`. */
export function inTime<T>(bridge: Bridge, work: () => Promise<T>): Promise<T> {
  const { clock, callMs = defaultCallMs } = bridge.options
  return withDeadline(clock, callMs, undefined, () => onlyInDatabase(bridge), work)
}

/** Keeps work in the set `underWay` until it ends. */
export async function tracked<T>(underWay: Set<Promise<unknown>>, work: Promise<T>): Promise<T> {
  underWay.add(work)
  try {
    return await work
  } finally {
    underWay.delete(work)
  }
}

/** Returns this ICL as a holder of the database lock: exclusive with a local copy, shared without. */
export const lockHolderOf = ({ options }: Bridge): LockHolder => ({
  id: options.replicaId,
  isExclusive: options.copy !== undefined,
})

/** Checks that this ICL still has the lock. Without it, saves are refused until it has it again. Throws what the database throws. */
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

/** Asks the database; throws `unavailable` when it is not connected or does not answer within `callMs`. */
export async function askPrimary<T>(bridge: Bridge, ask: (store: Store) => Promise<T>): Promise<T> {
  const { primary } = bridge
  if (!primary) throw onlyInDatabase(bridge)
  return inTime(bridge, () => ask(primary))
}

/** Applies the database's answer to the copy in the background. A change that the disk rejects is kept for `settleAll`. */
export function settleSoon({ unsettled }: Bridge, id: string, settle: () => Promise<void>): void {
  void settle().catch(() => unsettled.set(id, settle))
}

/** Repeats the changes that the disk rejected, before the copy is used again. Throws while the disk rejects them. */
export async function settleAll({ unsettled }: Bridge): Promise<void> {
  await Promise.all(
    [...unsettled].map(async ([id, settle]) => {
      await settle()
      unsettled.delete(id)
    }),
  )
}

/** Changes the mode to `away`, unless the mode has changed since `era`. */
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
  dropPrimary(bridge)
  const whyNot = whyNotWorking(bridge)
  options.log.warn(message, { error: errorMessage(error), whyNot })
  bridge.skipWait()
}

/**
 * Ends what is under way, and makes the next attempt connect anew. A save that was given up must not go on beside its replay: refused
 * as done, it would take back the events and keys that the replay has taken for its own. And a client may never find its server again:
 * on Bun, MongoDB's client waits for ever for a connection that closes while it opens, as a proxy closes it whose server is away.
 */
export function dropPrimary(bridge: Bridge): void {
  const { primary } = bridge
  bridge.primary = undefined
  void primary?.close().catch(() => {})
}

/** Returns why this ICL may not use a database that may be reachable; undefined when nothing forbids it. */
function whyKeptAway({ mode, lockedOut, isClosed }: Bridge): string | undefined {
  if (isClosed) return stopping
  if (lockedOut !== undefined) return lockedOut
  return mode === 'stuck' ? 'the database is not the one that the local copy is of' : undefined
}

/** Returns why the copy cannot stand in for the database; undefined when it can, or while the database is connected. */
export function whyNotWorking(bridge: Bridge): string | undefined {
  const { mode, options } = bridge
  if (mode === 'connected') return undefined
  const why = whyKeptAway(bridge)
  if (why !== undefined) return why
  if (!options.copy) return 'the database does not respond, and there is no local copy of it'
  const { writable, reasons } = options.copy.store.status()
  return writable ? undefined : `the local copy takes no saves: ${reasons.join('; ')}`
}

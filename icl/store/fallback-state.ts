import type { Clock, MonotonicMs } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Random } from '../../lib/random.ts'
import { createKeyedMutex, type KeyedMutex } from '../async/mutex.ts'
import type { Log } from '../telemetry/log.ts'
import { type BlobCache, createBlobCache } from './fallback-blobs.ts'
import { createEventCache, type EventCache } from './fallback-events.ts'
import { createMirror, type Mirror } from './fallback-mirror.ts'
import type { Pace } from './fallback-pace.ts'
import { onlyInDatabase } from './fallback-reads.ts'
import type { Journal } from './journal.ts'
import type { Store, Write } from './store.ts'

/** What a fallback store is made of; times in milliseconds. */
export type FallbackOptions = {
  /** Opens the database; throws ProblemError `unavailable` while it cannot be reached, and is then tried again. */
  readonly open: () => Promise<Store>
  readonly journal: Journal
  /** The same after a restart with the same journal. */
  readonly replicaId: string
  readonly version: string
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  /** How long one call to the database may take. */
  readonly callMs?: number
  /** How many bytes of blobs to keep for when the database is away. */
  readonly cacheBytes?: number
}

/** What a fallback store knows and does at a time. */
export type Fallback = {
  readonly options: FallbackOptions
  readonly mutex: KeyedMutex
  readonly blobs: BlobCache
  events: EventCache
  primary: Store | undefined
  /** `stuck`: the journal cannot be replayed, and an operator has to decide. */
  mode: 'connected' | 'away' | 'stuck'
  /** Counts changes of the mode: what was asked in an earlier one says nothing of this one. */
  era: number
  mirror: Mirror
  mirrorNumber: number
  /** A mirror that is being filled; saves are noted in it, too. */
  next: Mirror | undefined
  /** True once the mirror was filled. */
  isLoaded: boolean
  /** When the mirror was filled last. */
  filledAt: MonotonicMs | undefined
  /** True while the mirror holds everything that it should: nobody else has saved since it was filled. */
  isFresh: boolean
  /** True once this process has said that it is new. */
  hasJoined: boolean
  /** The process that joined last, when that was last looked at. */
  newest: string | undefined
  /** Up to where the changes by others are in the mirror; undefined while there are no others. */
  followed: string | undefined
  /** When it was last seen that no other replica has been about for five minutes. */
  aloneAt: number | undefined
  /** When this replica last said that it is there. */
  heartbeatAt: number
  /** Whether this absence of the database may be bridged. */
  isPermitted: boolean
  /** Why the journal or the database does not take writes. */
  trouble: string | undefined
  /** While it is there, saves wait for a change of the mode. */
  gate: Promise<void> | undefined
  /** While it is there, the journal is being replayed. */
  pace: Pace | undefined
  /** The journal is being begun. */
  beginning: Promise<void> | undefined
  /** Saves that were sent to the database and of which nobody was told yet. */
  readonly sent: Map<string, Write>
  /** Those of them, by lock, that the journal did not take either: what became of them is not known. */
  readonly unknown: Map<string, { readonly id: string; readonly write: Write }>
  /** Saves that go to the journal. */
  readonly locals: Set<Promise<unknown>>
  /** Where the changes of the database go on after those of the mirror. */
  cursor: string
  /** Ends the current wait of the background loop. */
  skipWait: () => void
}

const defaultCallMs = 10_000
const defaultCacheBytes = 128 * 1024 * 1024
/** A check for others counts for this long, in milliseconds; one who comes waits before saving for longer than between checks. */
const aloneForMs = 15_000

/** The state before anything was reached. */
export const createFallback = (options: FallbackOptions): Fallback => ({
  options,
  mutex: createKeyedMutex(),
  blobs: createBlobCache(options.cacheBytes ?? defaultCacheBytes),
  events: createEventCache(),
  primary: undefined,
  mode: 'away',
  era: 0,
  mirror: createMirror(),
  mirrorNumber: 0,
  next: undefined,
  isLoaded: false,
  filledAt: undefined,
  isFresh: false,
  hasJoined: false,
  newest: undefined,
  followed: undefined,
  aloneAt: undefined,
  heartbeatAt: Number.NEGATIVE_INFINITY,
  isPermitted: false,
  trouble: undefined,
  gate: undefined,
  pace: undefined,
  beginning: undefined,
  sent: new Map(),
  unknown: new Map(),
  locals: new Set(),
  cursor: '',
  skipWait: () => {},
})

/** True when an error says that the database was not reached, and nothing of what became of the call. */
export const isAway = (error: unknown): boolean =>
  error instanceof ProblemError && error.code === 'unavailable'

/** Waits for the database for a limited time. */
export const inTime = <T>({ options }: Fallback, work: () => Promise<T>): Promise<T> =>
  withDeadline(
    options.clock,
    options.callMs ?? defaultCallMs,
    undefined,
    () => onlyInDatabase('This'),
    work,
  )

/** Asks the database, for a limited time. */
export async function askPrimary<T>(
  fallback: Fallback,
  ask: (store: Store) => Promise<T>,
): Promise<T> {
  const { primary } = fallback
  if (!primary) throw onlyInDatabase('This')
  return inTime(fallback, () => ask(primary))
}

/** Notes that the database does not answer, unless that was noted since `era`. */
export function noteAway(fallback: Fallback, era: number, error: unknown): void {
  const { options, mode } = fallback
  if (fallback.era !== era || mode !== 'connected') return
  const { clock, journal, log } = options
  const isAlone = fallback.aloneAt !== undefined && clock.now() - fallback.aloneAt <= aloneForMs
  fallback.isPermitted = journal.begun || (fallback.isFresh && isAlone)
  fallback.isFresh &&= fallback.isPermitted
  fallback.mode = 'away'
  fallback.era++
  fallback.next = undefined
  log.warn('The database does not answer', {
    error: errorMessage(error),
    goesOn: fallback.isPermitted,
  })
  fallback.skipWait()
}

/** Why saves are refused now; undefined when they are taken. */
export function whyNotWritable({
  mode,
  isPermitted,
  isLoaded,
  trouble,
}: Fallback): string | undefined {
  if (mode === 'connected') return undefined
  if (trouble !== undefined) return trouble
  if (!isLoaded) return 'the database has not answered since the start'
  if (isPermitted) return undefined
  return 'the database does not answer, and other replicas may be at work: saves are refused until it does'
}

/*
 * Problem: an ICL that is alone has to work while its document database cannot be reached (spec 1, 7), also at a start without it,
 * and must not lose an acknowledged save.
 *
 * Idea: the sqlite file is the store. The database follows it: triggers note which records have changed, in the transaction that
 * changes them (ledger.ts), and a worker sends the present state of each. No save is judged, merged or replayed, because only the
 * newest state of a record is ever sent, and sending it again does no harm.
 *
 * Invariants:
 * - Only what is committed in the file is sent, so the database is never ahead of the file.
 * - Each change has a higher number. The database keeps the number of each record, also of one that is gone, and takes no lower one.
 *   So a call that was given up does no harm when it arrives late.
 * - While the database follows, a barrier resolves once both have the save, else once the file has it.
 * - The database names the file that it follows, and the process of that file that wrote last. It takes nothing from another.
 *
 * Failure cases:
 * - The database is away, or slower than a barrier waits: the file continues, and the worker tries again.
 * - The process dies: the next one sends what the file says was not sent.
 * - The database has lost states (a backup was restored): everything is sent again, and what the file has deleted is deleted there.
 * - The file is older than the database, or of another database: nothing is served, and the start ends with the remedy.
 * - The file is new: it is filled from the database first. Until then every call throws `unavailable`, unless `startEmpty`.
 * - The store is in memory, as there is no disk: a crash loses what the database does not have. Another one may take over from an
 *   owner that has been silent for 20 s by this process's clock, since that one has no file to come back with.
 * - The database refuses a record and takes others: that one is put behind them, named in the log, and tried again.
 */

import type { Clock } from '../../../lib/clock.ts'
import { within } from '../../../lib/deadline.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import type { Random } from '../../../lib/random.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { atMost } from '../../async/at-most.ts'
import type { SqliteStore } from '../sqlite/store.ts'
import type { Store, StoreStatus } from '../store.ts'
import { type Connecting, notServed, unavailable } from './connect.ts'
import { watchMs } from './follower.ts'
import { type Ledger, mostCounted, openLedger } from './ledger.ts'
import { createSender } from './sender.ts'

/** The parts and settings of a mirror. */
export type MirrorOptions = Connecting & {
  readonly store: SqliteStore
  /** Serves from an empty file while the database cannot be reached, and adds what the database has later. */
  readonly startEmpty?: boolean
  readonly random: Random
}

/** How long a barrier waits for the database before the file continues without it. */
const barrierMs = 5_000
const flushMs = 5_000
/** How long a barrier waits for a database that catches up: without it, saves could come faster than the database takes them. */
const paceMs = 500
/** How long a start waits for the database. */
const startMs = 15_000
/** How soon a change that no barrier waits for is sent, such as that of a command of the operator. */
const lookMs = 1_000
const firstPauseMs = 250
const longestPauseMs = 5_000

/** Opens the store of a file that a database follows. Throws SvcError `store-behind`, `store-foreign` or `store-locked`. */
export async function openMirror(options: MirrorOptions): Promise<Store> {
  const { store, follower, random, whyInMemory, startEmpty = false } = options
  const ledger = openLedger(store, newId(random), newId(random))
  const worker = startWorker(options, ledger)
  try {
    // A large database takes longer to be read. Until the file is filled, callers are told so.
    await atMost(options.clock, startMs, worker.judged)
  } catch (error) {
    await worker.stop()
    await follower.close()
    await store.close()
    throw error
  }
  const { state } = worker
  const ahead = store.ahead()
  const whyNot = (): string | undefined => {
    if (state.refusal !== undefined) return state.refusal
    if (state.isFilled || startEmpty) return undefined
    return 'The store is new, and not filled from the database yet'
  }
  // Clients see the text: it does not say who has the database.
  const check = () => {
    if (whyNot() !== undefined) throw unavailable(notServed)
  }
  const statusOf = (): StoreStatus => {
    const own = store.status()
    const why = whyNot()
    const waiting = ledger.countWaiting(worker.sentTo())
    const refused = worker.countRefused()
    const isAway = !state.isFollowing
    const reasons = [
      ...own.reasons,
      ...(why === undefined ? [] : [why]),
      ...(isAway
        ? [
            `${state.trouble}: ${waiting > mostCounted ? `more than ${mostCounted}` : waiting} records wait for it in the file`,
          ]
        : []),
      ...(refused > 0 ? [`the database refuses ${refused} records: the log names them`] : []),
      ...(whyInMemory === undefined
        ? []
        : [`${whyInMemory}: a crash loses what the database does not have`]),
    ]
    return {
      ...own,
      connected: own.connected && !isAway,
      writable: own.writable && why === undefined,
      reasons,
      ...(!state.isFilled && { partial: true }),
    }
  }
  return {
    ...guarded(ahead, check),
    durable: whyInMemory === undefined,
    commits: {
      onLost: ahead.commits.onLost,
      onForeign: ahead.commits.onForeign,
      barrier: () => {
        const inFile = ahead.commits.barrier()
        return async () => {
          // Read before: later ones may be of changes that the file then refuses.
          const seq = ledger.seq()
          await inFile()
          await worker.reached(seq)
          check()
        }
      },
    },
    status: () => (store.status().connected ? statusOf() : store.status()),
    close: async () => {
      // A save whose group the file loses has a number, too.
      await ahead.commits
        .barrier()()
        .catch(() => {})
      await leave(worker, ledger, options)
      await follower.close()
      await store.close()
    },
  }
}

const newId = (random: Random): string => toBase64Url(random.bytes(12))

/** Returns the store with calls that reject with what `check` throws; `scan` throws it. */
function guarded(store: Store, check: () => void): Store {
  const calls = Object.entries(store).map(([name, value]: [string, unknown]) => {
    if (typeof value !== 'function') return [name, value]
    const call = (...args: unknown[]) => {
      check()
      return value(...args)
    }
    return [name, name === 'scan' ? call : async (...args: unknown[]) => call(...args)]
  })
  return Object.fromEntries(calls) as unknown as Store
}

/** What a worker knows of the database. */
type State = {
  isFilled: boolean
  /** True while the database has everything but what came in just now. */
  isFollowing: boolean
  /** True while it takes what it lacks. */
  catchesUp: boolean
  trouble: string
  /** Why nothing may be served: the database is another's. */
  refusal: string | undefined
}

const unknownState: Omit<State, 'isFilled'> = {
  isFollowing: false,
  catchesUp: false,
  trouble: 'the database does not respond yet',
  refusal: undefined,
}

function startWorker(options: MirrorOptions, ledger: Ledger) {
  const { clock, log } = options
  const state: State = { isFilled: ledger.isFilled(), ...unknownState }
  const stop = new AbortController()
  const waiters = createWaiters()
  let judge = () => {}
  let refuse = (_error: unknown) => {}
  const judged = new Promise<void>((resolve, reject) => {
    judge = resolve
    refuse = reject
  })
  const noteAway = (trouble: string) => {
    if (trouble !== state.trouble) log.warn('The file continues without the database', { trouble })
    state.isFollowing = false
    state.catchesUp = false
    state.trouble = trouble
    waiters.release(Number.POSITIVE_INFINITY)
  }
  const sender = createSender(options, ledger, {
    signal: stop.signal,
    onWatching: ({ name }) => {
      noteAway(`${name} may have it: watched for ${watchMs / 1000} s`)
      judge()
    },
    onSent: (upTo) => {
      state.catchesUp = !state.isFollowing
      waiters.release(upTo)
    },
  })
  const run = async () => {
    for (let pauseMs = firstPauseMs; !stop.signal.aborted; ) {
      try {
        await sender.connect()
        state.refusal = undefined
        state.isFilled = true
        judge()
        if (!(await sender.sendAll())) {
          // Nothing more is acknowledged until this process has it again.
          state.refusal = 'The database has another owner, or was set back'
          continue
        }
        pauseMs = firstPauseMs
        const isBack = !state.isFollowing && sender.isQuick()
        if (isBack) {
          log.info('The database follows')
          state.isFollowing = true
          state.trouble = ''
        }
        // No barrier waits for what came in before it was back.
        if (!isBack) await waiters.idle(clock, lookMs, stop.signal)
      } catch (error) {
        if (stop.signal.aborted) break
        if (error instanceof SvcError) {
          state.refusal = `${error.message}. ${error.hint}`
          refuse(error)
        }
        judge()
        state.isFilled ||= ledger.isFilled()
        noteAway(`the database does not respond (${errorMessage(error)})`)
        options.follower.drop()
        await clock.sleep(pauseMs, stop.signal).catch(() => {})
        pauseMs = Math.min(pauseMs * 2, longestPauseMs)
      }
    }
    judge()
    waiters.release(Number.POSITIVE_INFINITY)
  }
  judged.catch(() => {})
  const ended = run()
  return {
    state,
    /** Resolves once the file is filled, or the database did not respond. Throws why this file may not use it. */
    judged,
    sentTo: sender.sentTo,
    /** Resolves once the database has everything up to a number, or the file continues without it. */
    reached: async (seq: number, ms = barrierMs): Promise<void> => {
      if (!(state.isFollowing || state.catchesUp) || sender.sentTo() >= seq) return
      const atMostMs = state.isFollowing ? ms : paceMs
      await within(clock, atMostMs, () => unavailable('late'), waiters.wait(seq)).catch(() => {
        if (state.isFollowing) noteAway('the database is slow')
      })
    },
    stop: async (): Promise<void> => {
      stop.abort()
      await ended
    },
    countRefused: sender.countRefused,
    release: sender.release,
  }
}

type Worker = ReturnType<typeof startWorker>

/** Sends the rest, within some seconds, and gives the database back. */
async function leave(worker: Worker, ledger: Ledger, { log, whyInMemory }: MirrorOptions) {
  await worker.reached(ledger.seq(), flushMs)
  const refused = worker.countRefused()
  const isDone = worker.state.isFollowing && refused === 0 && worker.sentTo() >= ledger.seq()
  await worker.stop()
  if (isDone) return worker.release().catch(() => {})
  const waiting = ledger.countWaiting(worker.sentTo()) + refused
  if (waiting === 0) return
  const end = whyInMemory === undefined ? 'wait in the file for the next start' : 'are lost'
  log.warn(`The database lacks records, which ${end}`, { records: waiting })
}

/** Keeps those who wait for a number, and wakes the worker for them. */
function createWaiters() {
  let waiting: { readonly seq: number; readonly go: () => void }[] = []
  let isCalled = false
  let wake = () => {}
  return {
    wait: (seq: number): Promise<void> => {
      isCalled = true
      wake()
      return new Promise((go) => waiting.push({ seq, go }))
    },
    release: (upTo: number): void => {
      for (const { seq, go } of waiting) if (seq <= upTo) go()
      waiting = waiting.filter(({ seq }) => seq > upTo)
    },
    /** Waits until another waits since the last time. */
    idle: async (clock: Clock, ms: number, signal: AbortSignal): Promise<void> => {
      const woken = new AbortController()
      wake = () => woken.abort()
      if (!isCalled) await clock.sleep(ms, AbortSignal.any([signal, woken.signal])).catch(() => {})
      isCalled = false
    },
  }
}

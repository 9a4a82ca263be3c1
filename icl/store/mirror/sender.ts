import { elapsedSince, type MonotonicMs } from '../../../lib/clock.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { type Connecting, callerOf, connect, unavailable } from './connect.ts'
import type { Mirrored, Owner } from './follower.ts'
import type { Ledger } from './ledger.ts'

const beatMs = 5_000
const retryRefusedMs = 60_000
/** How long the database keeps the numbers of records that are gone: longer than any call can be under way. */
const buriedMs = 3_600_000
/** How often what was sent is noted in the file: a repeat does no harm, and each note is a commit. */
const noteEveryMs = 1_000

/** Makes a sender. Calls `onSent` with each number up to which the database has everything. */
export function createSender(
  options: Connecting,
  ledger: Ledger,
  {
    signal,
    onWatching,
    onSent,
  }: {
    readonly signal: AbortSignal
    readonly onWatching: (other: Owner) => void
    readonly onSent: (upTo: number) => void
  },
) {
  const { follower, clock } = options
  const call = callerOf(options, signal)
  let owner: Owner | undefined
  /** Up to here the database has everything, as far as this process knows. */
  let sentTo = 0
  /** The highest number that `put` has announced, in whatever way it ended. */
  let announced = 0
  let beatAt: MonotonicMs | undefined
  const refuse = refusing(options, ledger)
  const notes = createNotes(options, ledger)
  const put = async (mine: Owner, to: number, states: readonly Mirrored[]): Promise<void> => {
    announced = Math.max(announced, mine.head, to)
    const heads = { from: mine.head, to: announced }
    if (!(await call(() => follower.put(mine, heads, states)))) {
      owner = undefined
      throw unavailable('it has another owner, or has gone back')
    }
    beatAt = clock.monotonic()
    owner = { ...mine, head: heads.to }
  }
  const sendBatch = async (mine: Owner) => {
    const { states, upTo, isLast } = ledger.take(sentTo)
    const readable = states.filter(({ error }) => error === undefined)
    for (const one of states) if (one.error !== undefined) await refuse(one, one.error)
    if (readable.length > 0 || elapsedSince(clock, beatAt) >= beatMs) {
      try {
        await put(mine, upTo, readable)
      } catch (error) {
        if (isAway(error) || readable.length === 0) throw error
        for (const one of readable) {
          await put(owner ?? mine, upTo, [one]).catch((reason: unknown) => {
            if (isAway(reason)) throw reason
            return refuse(one, reason)
          })
        }
      }
    }
    notes.add(readable)
    sentTo = upTo
    onSent(sentTo)
    return isLast
  }
  return {
    /** Connects if needed, and fills the file. Throws ProblemError while the database is away, SvcError when it is another's. */
    connect: async (): Promise<void> => {
      if (owner) return
      const mine = await connect(options, ledger, signal, onWatching)
      ;[owner, sentTo, announced] = [mine, 0, mine.head]
    },
    /** Sends what waits, once connected. Throws as `connect`. */
    sendAll: async (): Promise<void> => {
      for (let isLast = false; owner && !isLast && !signal.aborted; ) {
        isLast = await sendBatch(owner)
        await notes.write(sentTo)
      }
      if (await notes.retriesRefused(sentTo)) sentTo = 0
      await notes.forgetGone(sentTo)
    },
    /** The number up to which the database has everything. */
    sentTo: (): number => sentTo,
    /** Gives the database back, once it has everything. */
    release: async (): Promise<void> => {
      await notes.write(sentTo, true)
      const mine = owner
      if (mine) await callerOf(options)(() => follower.claim(mine, { ...mine, isFree: true }))
    },
  }
}

const isAway = (error: unknown): boolean =>
  error instanceof ProblemError && error.code === 'unavailable'

/** Returns a function that sets aside a record which the database cannot have. */
const refusing =
  ({ log }: Connecting, ledger: Ledger) =>
  async (one: Mirrored, error: unknown): Promise<void> => {
    const { kind, id } = one
    log.error('The database lacks a record', { kind, id, error: errorMessage(error) })
    await ledger.setAside(one)
  }

/** What is written to the file after the fact, and what follows from its age. */
function createNotes({ clock, follower, ...options }: Connecting, ledger: Ledger) {
  const call = callerOf({ clock, follower, ...options })
  let gone: readonly Mirrored[] = []
  let noted = { to: 0, at: undefined as MonotonicMs | undefined }
  let retriedAt = clock.monotonic()
  let buried = { at: clock.monotonic(), upTo: 0, next: ledger.seq() }
  return {
    add: (sent: readonly Mirrored[]): void => {
      gone = [...gone, ...sent.filter(({ record }) => record === undefined)]
    },
    /** Notes what was sent, unless it did so a moment ago. */
    write: async (sentTo: number, isUrgent = false): Promise<void> => {
      if (sentTo <= noted.to || (!isUrgent && elapsedSince(clock, noted.at) < noteEveryMs)) return
      const known = gone
      gone = []
      noted = { to: sentTo, at: clock.monotonic() }
      await ledger.noteSent(sentTo, known)
    },
    /** Has records sent again that the database refused a while ago; true when there are any. */
    retriesRefused: async (sentTo: number): Promise<boolean> => {
      if (elapsedSince(clock, retriedAt) < retryRefusedMs) return false
      retriedAt = clock.monotonic()
      if (ledger.countWaiting(sentTo).refused === 0) return false
      await ledger.retryRefused()
      return true
    },
    /** Has the database forget the numbers of records that were gone an hour ago. */
    forgetGone: async (sentTo: number): Promise<void> => {
      if (elapsedSince(clock, buried.at) < buriedMs) return
      const old = ledger.listGone(buried.upTo)
      if (old.length > 0) {
        await call(() => follower.forget(old))
        await ledger.forgetGone(old)
      } else buried = { at: clock.monotonic(), upTo: buried.next, next: sentTo }
    },
  }
}

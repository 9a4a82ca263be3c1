import { elapsedSince, type MonotonicMs } from '../../../lib/clock.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { beating, type Connecting, callerOf, connect, inTime } from './connect.ts'
import { beatMs, type Mirrored, type Owner } from './follower.ts'
import type { Ledger } from './ledger.ts'

/** How long the database keeps the numbers of records that are gone: longer than any call can be under way. */
const buriedMs = 3_600_000
/** How often what was sent is noted in the file: a repeat does no harm, and each note is a commit. */
const noteEveryMs = 1_000
/** The records of one call: so many at most, and as many as the database does in about a second, so that none is given up. */
const mostAtOnce = 200
const callTakesMs = 1_000
/** How soon a record that the database refuses is sent again. */
const tryAgainMs = 60_000

type Hooks = {
  readonly signal: AbortSignal
  readonly onWatching: (other: Owner) => void
  /** Called with each number up to which the database has everything. */
  readonly onSent: (upTo: number) => void
}

/** Makes a sender. */
export function createSender(
  options: Connecting,
  ledger: Ledger,
  { signal, onWatching, onSent }: Hooks,
) {
  const { follower, clock } = options
  const call = callerOf(options, signal)
  let owner: Owner | undefined
  /** Up to here the database has everything, as far as this process knows. */
  let sentTo = 0
  /** The highest number that `put` has announced, in whatever way it ended. */
  let announced = 0
  let beatAt: MonotonicMs | undefined
  let tookMs = 0
  let most = mostAtOnce
  const notes = createNotes(options, ledger)
  const refusals = createRefusals(options, ledger)
  const forget = createForgetting(options, call)
  /** False when the database has another owner, or has gone back. */
  const put = async (mine: Owner, to: number, states: readonly Mirrored[]): Promise<boolean> => {
    announced = Math.max(announced, mine.head, to)
    const heads = { from: mine.head, to: announced }
    const at = clock.monotonic()
    const isMine = await call(() => follower.put(mine, heads, states)).finally(() => {
      tookMs = elapsedSince(clock, at)
      most = tookMs <= callTakesMs ? Math.min(2 * most, mostAtOnce) : Math.ceil(most / 2)
    })
    if (!isMine) {
      owner = undefined
      return false
    }
    await refusals.end(states)
    beatAt = clock.monotonic()
    owner = { ...mine, head: heads.to }
    return true
  }
  /** True for an error that says nothing about a record: the database is away, or the sender was stopped. */
  const isOver = (error: unknown): boolean =>
    signal.aborted || (error instanceof ProblemError && error.code === 'unavailable')
  const sendBatch = async (mine: Owner) => {
    const { states, upTo, isLast } = ledger.take(sentTo, most)
    const readable = states.filter(({ error }) => error === undefined)
    for (const one of states) if (one.error !== undefined) await refusals.note(one, one.error)
    if (upTo > mine.head || readable.length > 0 || elapsedSince(clock, beatAt) >= beatMs) {
      try {
        if (!(await put(mine, upTo, readable))) return false
      } catch (error) {
        if (isOver(error) || readable.length === 0) throw error
        for (const one of readable) {
          try {
            if (!(await put(owner ?? mine, upTo, [one]))) return false
          } catch (reason) {
            if (isOver(reason)) throw reason
            await refusals.note(one, reason)
          }
        }
      }
    }
    sentTo = upTo
    onSent(sentTo)
    return isLast
  }
  /** Deletes in the database what is gone, once it was sent. */
  const sweep = async (mine: Owner) => {
    const below = ledger.sweepsBelow()
    // What it refuses may have its last good state there.
    if (below !== undefined && refusals.count() === 0) {
      if (!(await put(mine, mine.head, []))) return
      for await (const _ of beating(options, mine, inTime(call, follower.sweep(below))));
      await ledger.noteSwept()
    }
    await forget()
  }
  return {
    /** Connects if needed, and fills the file. Throws ProblemError while the database is away, SvcError when it is another's. */
    connect: async (): Promise<void> => {
      if (owner) return
      const mine = await connect(options, ledger, signal, onWatching)
      ;[owner, sentTo, announced, tookMs] = [mine, 0, mine.head, 0]
    },
    /** Sends what waits, once connected; false when it has to connect again. Throws as `connect`. */
    sendAll: async (): Promise<boolean> => {
      await refusals.retry()
      for (let isLast = false; owner && !isLast && !signal.aborted; ) {
        isLast = await sendBatch(owner)
        await notes.noteSoon(sentTo)
      }
      if (owner && !signal.aborted) await sweep(owner)
      return owner !== undefined
    },
    /** The number up to which the database has everything. */
    sentTo: (): number => sentTo,
    /** True when the database answered the last call within a second. */
    isQuick: (): boolean => tookMs <= callTakesMs,
    /** How many records the database refuses. */
    countRefused: refusals.count,
    /** Gives the database back, once it has everything. */
    release: async (): Promise<void> => {
      await notes.note(sentTo)
      const mine = owner
      if (mine) await callerOf(options)(() => follower.release(mine))
    },
  }
}

/** Notes in the file what was sent. */
function createNotes({ clock, log }: Connecting, ledger: Ledger) {
  let notedTo = 0
  let notedAt: MonotonicMs | undefined
  const note = async (sentTo: number): Promise<void> => {
    notedAt = clock.monotonic()
    try {
      await ledger.noteSent(sentTo)
      notedTo = sentTo
    } catch (error) {
      log.warn('The file does not note what was sent', { error: errorMessage(error) })
    }
  }
  return {
    note,
    noteSoon: async (sentTo: number): Promise<void> => {
      if (sentTo > notedTo && elapsedSince(clock, notedAt) >= noteEveryMs) await note(sentTo)
    },
  }
}

/** Has the database forget the numbers of what is gone, each hour; a failure does no harm. */
function createForgetting({ follower, clock, log }: Connecting, call: ReturnType<typeof callerOf>) {
  let at: MonotonicMs | undefined
  return async (): Promise<void> => {
    if (elapsedSince(clock, at) < buriedMs) return
    at = clock.monotonic()
    try {
      for await (const _ of inTime(call, follower.forget(clock.now() - buriedMs)));
    } catch (error) {
      log.warn('The database keeps what is gone an hour longer', { error: errorMessage(error) })
    }
  }
}

/** The records that the database cannot have. */
function createRefusals({ clock, log }: Connecting, ledger: Ledger) {
  const refused = new Set<string>()
  let triedAt = clock.monotonic()
  const nameOf = ({ kind, id }: Mirrored) => `${kind} ${id}`
  return {
    count: () => refused.size,
    end: async (states: readonly Mirrored[]): Promise<void> => {
      for (const one of states) if (refused.delete(nameOf(one))) await ledger.refuse(one, false)
    },
    /** Has all sent again when it is time. */
    retry: async (): Promise<void> => {
      if (elapsedSince(clock, triedAt) < tryAgainMs) return
      triedAt = clock.monotonic()
      if (refused.size > 0) await ledger.postpone()
    },
    note: async (one: Mirrored, error: unknown): Promise<void> => {
      const name = nameOf(one)
      if (!refused.has(name))
        log.error('The database lacks a record', { name, error: errorMessage(error) })
      refused.add(name)
      await ledger.refuse(one, true)
    },
  }
}

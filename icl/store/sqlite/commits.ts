/*
 * Problem: a commit is an fsync, which costs more than the rest of a save. One commit for each save would make a job wait
 * for the disk some thirty times in a row, although most of these saves are not visible outside by themselves.
 *
 * Idea: a change is made at once in an open transaction, and every later read of this process sees it. One commit takes
 * a group of changes to the disk: after the process has handled the requests that have arrived when a caller waits for it
 * (`flushed`), or else a few milliseconds later. Every answer waits for its commit.
 *
 * Invariants:
 * - `flushed` resolves only once every change made before its call is on the disk. The commit itself syncs
 *   (`synchronous = FULL`), so that no other process ever reads a change that may still be lost. The host of a Durable Object, which
 *   has no other process, syncs later (`synced`).
 * - A change that fails is undone alone (a savepoint), and the others of its group stay.
 * - After the loss of a group, `flushed` fails for every caller that began before: what it read or saved may rest on it.
 *
 * Failure cases:
 * - The commit fails, or the file is no longer in its place: the group is undone, all waiting callers get `unavailable`,
 *   and the listeners of `onLost` drop what they cached. A full disk passes. After an error of the disk or the file,
 *   changes are refused until a restart.
 * - The process dies: the open group is lost, and no caller was told that it was saved.
 * - Another process writes for longer than the busy timeout: changes that arrive together share one wait, and are refused.
 */

import { ProblemError } from '../../../lib/problem.ts'
import {
  asStoreError,
  failureCode,
  isDamaged,
  isFatal,
  type Nested,
  type SqliteDatabase,
  troubleOf,
} from './database.ts'

type Host = {
  readonly nested: Nested
  /** Calls back once the process has handled the requests that have arrived. */
  readonly defer: (work: () => void) => void
  /** Calls back some milliseconds later. */
  readonly rest: (work: () => void) => void
  /** Whether the open file is still the one that a restart would find. */
  readonly isInPlace: () => boolean
  /** Resolves once what was committed is on the disk; absent where a commit returns then. */
  readonly synced?: () => Promise<void>
  /** Called when a change was undone: what it left in memory is not in the database. */
  readonly onUndone?: () => void
}

/** A transaction, and the promise that callers wait for. */
type Group = {
  readonly ended: Promise<void>
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  changes: number
  isAwaited: boolean
}

function newGroup(): Group {
  let [resolve, reject]: [Group['resolve'], Group['reject']] = [() => {}, () => {}]
  const ended = new Promise<void>((...settle) => {
    ;[resolve, reject] = settle
  })
  // A failure that no caller waits for must not be an unhandled rejection.
  ended.catch(() => {})
  return { ended, resolve, reject, changes: 0, isAwaited: false }
}

/** Marks a group as awaited; returns whether it was before. */
function isAwaited(group: Group): boolean {
  const was = group.isAwaited
  group.isAwaited = true
  return was
}

// Limits the size of one commit.
const mostPerCommit = 512

/** Takes changes to the disk, many with one fsync. */
export type SqliteCommits = ReturnType<typeof createCommits>

/** Creates the group commit of a connection. */
export function createCommits(
  db: SqliteDatabase,
  { nested, defer, rest, isInPlace, synced, onUndone }: Host,
) {
  const trouble = createTrouble()
  const listeners: (() => void)[] = []
  let open: Group | undefined
  let lost: { readonly times: number; readonly why?: unknown } = { times: 0 }
  let isClosed = false
  let refused: unknown

  const lose = (group: Group, error: unknown): void => {
    rollBack(db)
    open = undefined
    lost = { times: lost.times + 1, why: trouble.note(error) }
    group.reject(lost.why)
    for (const listener of listeners) listener()
  }
  const begin = (): Group => {
    if (refused !== undefined) throw refused
    try {
      db.exec('BEGIN IMMEDIATE')
    } catch (error) {
      refused = trouble.note(error)
      defer(() => (refused = undefined))
      throw refused
    }
    const group = newGroup()
    rest(() => commit(group))
    return group
  }
  const commit = (group: Group | undefined): void => {
    if (!group || group !== open) return
    try {
      trouble.throwLasting()
      db.exec('COMMIT')
      if (!isInPlace()) trouble.last('The database file was moved or deleted')
    } catch (error) {
      lose(group, error)
      return
    }
    open = undefined
    if (group.changes > 0) trouble.passed()
    group.resolve()
  }
  const apply = <T>(work: () => T): T => {
    if (isClosed) throw new ProblemError('unavailable', 'The database is closed')
    trouble.throwLasting()
    open ??= begin()
    const group = open
    let answer: T
    try {
      answer = nested(work, (error) => lose(group, error))
    } catch (error) {
      onUndone?.()
      const why = trouble.note(error)
      if (trouble.isLasting() && group === open) lose(group, error)
      throw why
    }
    if (++group.changes >= mostPerCommit) commit(group)
    return answer
  }
  const flushed = async (since: number, isUrgent = true): Promise<void> => {
    if (lost.times !== since) throw lost.why
    const group = open
    if (group && isUrgent && !isAwaited(group)) defer(() => commit(group))
    await group?.ended
    await synced?.()
  }
  return {
    /** Makes a change at once; it is durable once `flushed` has resolved. Throws what `work` throws, or why no change can be made. */
    apply,
    /** Makes a change; resolves to its result once the change is on the disk. A change that is not urgent waits for the next commit. */
    run: async <T>(work: () => T, isUrgent = true): Promise<T> => {
      const since = lost.times
      const answer = apply(work)
      await flushed(since, isUrgent)
      return answer
    },
    /**
     * Resolves once all changes so far are on the disk. Throws why a group was lost when one was since `losses` was read. A call that
     * is not urgent waits for the next commit, and does not cause one.
     */
    flushed,
    /** An object that identifies the open transaction, during which no other process changes the database; undefined without one. */
    open: (): object | undefined => open,
    /** How many groups were lost so far. */
    losses: (): number => lost.times,
    /** Registers a listener for lost groups. */
    onLost: (listener: () => void): void => void listeners.push(listener),
    /** Commits the open group now, for work that cannot run within a transaction. */
    commit: (): void => commit(open),
    /** Reports an error of a read. After an error of the disk or the file, changes are refused until a restart. */
    suspect: trouble.suspect,
    /** Why changes are refused, or failed last; undefined when nothing is wrong. */
    trouble: trouble.now,
    /** Commits the open group, and refuses later changes. */
    close: (): void => {
      isClosed = true
      commit(open)
    },
  }
}

/** Keeps what is wrong with the database: passing trouble, and trouble that lasts until a restart. */
function createTrouble() {
  let passing: string | undefined
  let lasting: string | undefined
  const suspect = (error: unknown): void => {
    // A disk that failed once may have lost pages that the cache still shows. Only a restart reads what is really on it.
    if (isFatal(error)) lasting ??= `${troubleOf(error)}; ${remedyOf(error)}`
  }
  const refusal = (cause: unknown): unknown =>
    lasting === undefined
      ? asStoreError(cause)
      : new ProblemError('unavailable', lasting, { retryAfterSeconds: 30 })
  return {
    suspect,
    /** Records an error, and returns it as callers know it. */
    note: (error: unknown): unknown => {
      if (failureCode(error) !== undefined) passing = troubleOf(error)
      suspect(error)
      return refusal(error)
    },
    /** Refuses all changes until a restart, and throws the refusal. */
    last: (why: string): void => {
      lasting ??= why
      throw refusal(undefined)
    },
    throwLasting: (): void => {
      if (lasting !== undefined) throw refusal(undefined)
    },
    isLasting: (): boolean => lasting !== undefined,
    passed: (): void => {
      passing = undefined
    },
    now: (): string | undefined => lasting ?? passing,
  }
}

const remedyOf = (error: unknown): string =>
  isDamaged(error)
    ? 'stop the ICL, keep a copy of its files, and restore the last backup'
    : 'look after the disk and restart'

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // SQLite has rolled back by itself, or the commit succeeded.
  }
}

/*
 * Problem: a commit is an fsync, and takes longer than all else that a save costs. One for each save would make a job wait
 * for the disk some thirty times, one after the other, although nobody outside learns of most of these saves by itself.
 *
 * Idea: a change is made at once in an open transaction, and every later read of this process sees it. The commit takes
 * a whole group of changes to the disk. It is due when a caller waits for it (`flushed`), once the process has seen to the
 * requests that are in already, and a few milliseconds later if nobody does. Whatever leaves the process waits for it.
 *
 * Invariants:
 * - `flushed` resolves only once every change that was made before its call is on the disk. The commit itself syncs
 *   (`synchronous = FULL`), so that no other process ever reads what may still be lost.
 * - A change that fails is undone alone (a savepoint), and the others of its group stay.
 * - Once a group is lost, `flushed` fails for everybody who began before: what they have read or made may rest on it.
 *
 * Failure cases:
 * - The commit fails, or the file is not in its place any more: the whole group is undone, all who wait get `unavailable`,
 *   and `onLost` has what remembers the database forget it. A full disk passes. After an error of the disk or the file
 *   nothing is changed until a restart.
 * - The process dies: the open group is gone, and nobody was told of it.
 * - Another process writes for longer than it is waited for: changes are refused, with one wait for all that come at once.
 */

import { ProblemError } from '../../../lib/problem.ts'
import {
  asStoreError,
  failureCode,
  isDamaged,
  isFatal,
  type SqliteDatabase,
  troubleOf,
} from './database.ts'

/** Takes changes to the disk, many with one fsync. */
export type SqliteCommits = {
  /** Makes a change at once, and throws what it throws, or why none can be made. It lasts when `flushed` has resolved. */
  apply<T>(work: () => T): T
  /** Makes a change; resolves to its answer once that is on the disk. */
  run<T>(work: () => T): Promise<T>
  /**
   * Resolves once all changes so far are on the disk; throws `unavailable` when some were lost since there were `losses`. What is not
   * urgent waits for the next commit.
   */
  flushed(losses: number, isUrgent?: boolean): Promise<void>
  /** What stands for the transaction that is open: nobody else changes the database meanwhile. */
  open(): object | undefined
  /** How many groups were lost so far. */
  losses(): number
  /** Calls back whenever a group was lost. */
  onLost(listener: () => void): void
  /** Commits now what is open, for what cannot be done within a transaction. */
  commit(): void
  /** Heeds an error that a read met: after one of the disk or the file, no changes are made until a restart. */
  suspect(error: unknown): void
  /** What keeps changes from being made; undefined when nothing does. */
  trouble(): string | undefined
  /** Commits what is open; whatever comes later is refused. */
  close(): void
}

type Host = {
  /** Calls back once the process has seen to the requests that are in already. */
  readonly defer: (work: () => void) => void
  /** Calls back some milliseconds later. */
  readonly rest: (work: () => void) => void
  /** Whether the open file is still the one that a restart would find. */
  readonly isInPlace: () => boolean
  /** Called at once when a change was undone: what it left in memory is not in the database. */
  readonly onUndone?: () => void
}

/** A transaction that others wait for. */
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
  // Those who wait hear of a failure; it may be that nobody does.
  ended.catch(() => {})
  return { ended, resolve, reject, changes: 0, isAwaited: false }
}

/** Whether something waits for the group already; from now on it does. */
function isAwaited(group: Group): boolean {
  const was = group.isAwaited
  group.isAwaited = true
  return was
}

// Bounds what one commit takes to the disk.
const mostPerCommit = 512

/** Commits in groups. */
export function createCommits(
  db: SqliteDatabase,
  { defer, rest, isInPlace, onUndone }: Host,
): SqliteCommits {
  const trouble = createTrouble()
  const alone = createSavepoint(db)
  const listeners: (() => void)[] = []
  let open: Group | undefined
  let losses = 0
  let isClosed = false
  let refused: unknown

  const lose = (group: Group, error: unknown): void => {
    rollBack(db)
    open = undefined
    losses++
    group.reject(trouble.note(error))
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
      answer = alone.run(work)
    } catch (error) {
      onUndone?.()
      const why = trouble.note(error)
      if (!alone.undo() || trouble.isLasting()) lose(group, error)
      throw why
    }
    if (++group.changes >= mostPerCommit) commit(group)
    return answer
  }
  const flushed = async (since: number, isUrgent = true): Promise<void> => {
    if (losses !== since) throw lost()
    const group = open
    if (group && isUrgent && !isAwaited(group)) defer(() => commit(group))
    await group?.ended
  }
  return {
    apply,
    run: async (work) => {
      const since = losses
      const answer = apply(work)
      await flushed(since)
      return answer
    },
    flushed,
    open: () => open,
    losses: () => losses,
    onLost: (listener) => void listeners.push(listener),
    commit: () => commit(open),
    suspect: trouble.suspect,
    trouble: trouble.now,
    close: () => {
      isClosed = true
      commit(open)
    },
  }
}

/** Runs a change so that it can be undone by itself. */
function createSavepoint(db: SqliteDatabase) {
  const savepoint = db.prepare('SAVEPOINT change')
  const undo = db.prepare('ROLLBACK TO change')
  const release = db.prepare('RELEASE change')
  return {
    run: <T>(work: () => T): T => {
      savepoint.run()
      const answer = work()
      release.run()
      return answer
    },
    /** Undoes the change that failed; false when SQLite has undone the whole transaction. */
    undo: (): boolean => {
      try {
        undo.run()
        release.run()
        return true
      } catch {
        return false
      }
    },
  }
}

/** What is wrong with the database: for a while, or until a restart. */
function createTrouble() {
  let passing: string | undefined
  let lasting: string | undefined
  const suspect = (error: unknown): void => {
    // A disk that failed once may have lost pages that it still shows: only a new start reads what is really there.
    if (isFatal(error)) lasting ??= `${troubleOf(error)}; ${remedyOf(error)}`
  }
  const refusal = (cause: unknown): unknown =>
    lasting === undefined
      ? asStoreError(cause)
      : new ProblemError('unavailable', lasting, { retryAfterSeconds: 30 })
  return {
    suspect,
    /** Keeps an error in mind; gives it as callers know it. */
    note: (error: unknown): unknown => {
      if (failureCode(error) !== undefined) passing = troubleOf(error)
      suspect(error)
      return refusal(error)
    },
    /** Says that nothing is changed any more, and throws that. */
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

const lost = (): ProblemError =>
  new ProblemError('unavailable', 'The database lost what this rests on. Try again', {
    retryAfterSeconds: 1,
  })

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // SQLite has rolled back itself, or the commit went through.
  }
}

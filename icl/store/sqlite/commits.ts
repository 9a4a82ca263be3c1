import { ProblemError } from '../../../lib/problem.ts'
import {
  asStoreError,
  failureCode,
  isDamaged,
  isFatal,
  type SqliteDatabase,
  troubleOf,
} from './database.ts'

type Waiting = {
  readonly work: () => unknown
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Takes changes to the disk, many with one fsync. */
export type Commits = {
  /** Runs a change within a transaction; resolves to its answer once that is on the disk. */
  run<T>(work: () => T): Promise<T>
  /** Heeds an error that a read met: after one of the disk or the file, no changes are made until a restart. */
  suspect(error: unknown): void
  /** What keeps changes from being made; undefined when nothing does. */
  trouble(): string | undefined
  /** Commits what waits; whatever comes later is refused. */
  close(): void
}

// Bounds how long one transaction holds up everything else.
const mostPerCommit = 512

/** A failure of the whole group: trying each change by itself would not help. */
class GroupFailed extends Error {}

/**
 * Commits in groups: what comes while the process is at other work, or at the last commit, goes into one transaction.
 * `defer` calls back once the process has seen to the requests that are in already; `isInPlace` tells whether the open file is
 * still the one that a restart would find.
 */
export function createCommits(
  db: SqliteDatabase,
  { defer, isInPlace }: { defer: (work: () => void) => void; isInPlace: () => boolean },
): Commits {
  let waiting: Waiting[] = []
  let isDeferred = false
  let isClosed = false
  let passing: string | undefined
  let lasting: string | undefined

  const suspect = (error: unknown): void => {
    // A disk that failed once may have lost pages that it still shows: only a new start reads what is really there.
    if (isFatal(error)) lasting ??= `${troubleOf(error)}; ${remedyOf(error)}`
  }
  const commit = (batch: readonly Waiting[]): readonly unknown[] => {
    try {
      forGroup(() => db.exec('BEGIN IMMEDIATE'))
      const answers = batch.map(({ work }) => work())
      forGroup(() => db.exec('COMMIT'))
      if (isInPlace()) return answers
      lasting = 'The database file was moved or deleted'
      throw new GroupFailed(lasting)
    } catch (error) {
      rollBack(db)
      throw error
    }
  }
  const attempt = (batch: readonly Waiting[]): void => {
    try {
      const answers = commit(batch)
      passing = undefined
      for (const [index, { resolve }] of batch.entries()) resolve(answers[index])
    } catch (error) {
      const cause = error instanceof GroupFailed ? error.cause : error
      if (failureCode(cause) !== undefined) passing = troubleOf(cause)
      suspect(cause)
      const isOnesOwn = !(error instanceof GroupFailed) && !lasting && batch.length > 1
      if (isOnesOwn) for (const one of batch) attempt([one])
      else for (const { reject } of batch) reject(refusal(lasting, cause))
    }
  }
  const flush = (): void => {
    isDeferred = false
    const batch = waiting.slice(0, mostPerCommit)
    waiting = waiting.slice(mostPerCommit)
    if (lasting) for (const { reject } of batch) reject(refusal(lasting, undefined))
    else if (batch.length > 0) attempt(batch)
    schedule()
  }
  const schedule = (): void => {
    if (isDeferred || waiting.length === 0) return
    isDeferred = true
    defer(flush)
  }
  return {
    run: <T>(work: () => T) =>
      new Promise<T>((resolve, reject) => {
        if (isClosed) return reject(new ProblemError('unavailable', 'The database is closed'))
        waiting.push({ work, resolve: (value) => resolve(value as T), reject })
        schedule()
      }),
    suspect,
    trouble: () => lasting ?? passing,
    close: () => {
      isClosed = true
      while (waiting.length > 0) flush()
    },
  }
}

const remedyOf = (error: unknown): string =>
  isDamaged(error)
    ? 'stop the ICL, keep a copy of its files, and restore the last backup'
    : 'look after the disk and restart'

function forGroup(work: () => void): void {
  try {
    work()
  } catch (error) {
    throw new GroupFailed('The commit failed', { cause: error })
  }
}

const refusal = (lasting: string | undefined, cause: unknown): unknown =>
  lasting === undefined
    ? asStoreError(cause)
    : new ProblemError('unavailable', lasting, { retryAfterSeconds: 30 })

function rollBack(db: SqliteDatabase): void {
  try {
    db.exec('ROLLBACK')
  } catch {
    // SQLite has rolled back itself, or the commit went through.
  }
}

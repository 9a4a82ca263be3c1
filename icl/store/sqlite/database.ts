import { errorMessage } from '../../../lib/error-message.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { Row } from '../rows.ts'

/** A value of a SQLite column. */
export type SqliteValue = string | number | null | Uint8Array<ArrayBuffer>

/** A prepared statement: the part of node:sqlite's StatementSync that the store needs. */
export type Statement = {
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
  get(...values: SqliteValue[]): Row | undefined
  all(...values: SqliteValue[]): Row[]
  iterate(...values: SqliteValue[]): IterableIterator<Row>
}

/** True when a statement changed a row. */
export const didChange = ({ changes }: ReturnType<Statement['run']>): boolean => changes > 0

/** The part of node:sqlite's DatabaseSync that the store needs. */
export type SqliteDatabase = {
  exec(sql: string): void
  prepare(sql: string): Statement
  close(): void
}

/** Runs work within the open transaction. When it throws, its changes are undone alone, or `onLost` is called: SQLite has undone all. */
export type Nested = <T>(work: () => T, onLost?: (error: unknown) => void) => T

/** Nests by savepoints. */
export function savepointsOf(db: SqliteDatabase): Nested {
  const savepoint = db.prepare('SAVEPOINT change')
  const undo = db.prepare('ROLLBACK TO change')
  const release = db.prepare('RELEASE change')
  return (work, onLost) => {
    savepoint.run()
    try {
      const answer = work()
      release.run()
      return answer
    } catch (error) {
      try {
        undo.run()
        release.run()
      } catch {
        onLost?.(error)
      }
      throw error
    }
  }
}

// SQLite's primary result codes, with words of their messages for Deno, which reports no code.
const failures = [
  [5, /database is locked/],
  [6, /table is locked/],
  [7, /out of memory/],
  [8, /readonly database/],
  [10, /I\/O error/],
  [11, /malformed/],
  [13, /is full/],
  [14, /unable to open/],
  [26, /not a database/],
] as const
const [busy, locked, full] = [5, 6, 13]
/** Read-only, I/O error, corrupt, not a database: this process can no longer rely on anything it knows about the file. */
const fatalCodes: readonly number[] = [8, 10, 11, 26]

/** Returns SQLite's primary result code when the database or the machine failed; undefined for any other error. */
export function failureCode(error: unknown): number | undefined {
  if (!(error instanceof Error && 'code' in error && error.code === 'ERR_SQLITE_ERROR')) {
    return undefined
  }
  const code = 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0
  return failures.find(([known, words]) =>
    code === 0 ? words.test(error.message) : known === code,
  )?.[0]
}

/** True when the file or its disk is unreliable after this error. */
export const isFatal = (error: unknown): boolean => fatalCodes.includes(failureCode(error) ?? 0)

/** True when the file is corrupt or no SQLite database. */
export const isDamaged = (error: unknown): boolean => [11, 26].includes(failureCode(error) ?? 0)

/** True when the disk is full or the file read-only. */
export const isWithoutRoom = (error: unknown): boolean =>
  [8, full].includes(failureCode(error) ?? 0)

/** Turns an error of SQLite into ProblemError `unavailable`, and returns other errors as they are. Names no file: clients see the text. */
export function asStoreError(error: unknown): unknown {
  const code = failureCode(error)
  if (code === undefined) return error
  return code === full
    ? new ProblemError(
        'unavailable',
        `${troubleOf(error)}: the operator of the ICL has to make room`,
        {
          retryAfterSeconds: 10,
        },
      )
    : new ProblemError('unavailable', troubleOf(error), { retryAfterSeconds: 1 })
}

/** Describes an error of the database in a few words. */
export function troubleOf(error: unknown): string {
  const code = failureCode(error)
  if (code === busy || code === locked) return 'The database is busy'
  if (code === full) return 'The disk of the database is full'
  return `The database failed: ${errorMessage(error)}`
}

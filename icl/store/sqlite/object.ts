/*
 * Problem: an edge host gives a Durable Object an SQLite database of its own. It commits by itself, refuses BEGIN, SAVEPOINT and most
 * PRAGMAs, and has another interface than node:sqlite.
 *
 * Invariants:
 * - A change is whole: `transactionSync` undoes a part, and the host commits no turn in the middle.
 * - `flushed` resolves once the host has synced its log (`sync`).
 * - After an error of the disk, or a file of another process that is locked, the host drops what it has not committed and restarts the
 *   object. A group that is lost here restarts it also (`abort`).
 * - A row is at most what Cloudflare's hosts take. The local workerd takes more.
 *
 * `erase` deletes: the text may stay in free pages of the file, and in what the host keeps for recovery.
 */
import { utf8 } from '../../../lib/digest.ts'
import type { Log } from '../../telemetry/log.ts'
import { numberOf, type Row } from '../rows.ts'
import type { SqliteDatabase, SqliteValue } from './database.ts'
import { checkSchema, isEmpty, makeTables } from './schema.ts'
import { createSqliteStore, type SqliteStore } from './store.ts'

/** The part of a Durable Object's state that the store needs. */
export type ObjectState = {
  readonly storage: {
    readonly sql: {
      exec(sql: string, ...values: SqliteValue[]): { toArray(): Record<string, unknown>[] }
    }
    transactionSync<T>(work: () => T): T
    sync(): Promise<void>
  }
  abort(reason: string): void
}

/** 2 MB, less the columns that an update leaves as they are. */
const mostRowBytes = 1_990_000

/** Opens the store in the storage of a Durable Object. Throws SvcError `store-foreign` or `store-version`. */
export function openObjectStore(object: ObjectState, log?: Log): SqliteStore {
  const { storage } = object
  const db = databaseOf(object)
  if (!isEmpty(db)) checkSchema(db, 'The storage of the Durable Object')
  else {
    makeTables(db)
    log?.info('A new database was made')
  }
  return createSqliteStore(db, {
    nested: (work) => storage.transactionSync(work),
    synced: () => storage.sync(),
    defer: queueMicrotask,
    rest: queueMicrotask,
    isInPlace: () => true,
    // The object has one connection, which reads the rows of one kind at once.
    openReader: () => db,
    close: () => {},
    log,
  })
}

/** Left to the host: it commits, checkpoints its log, and does not overwrite what is deleted. */
const hosts = /^(BEGIN|COMMIT|PRAGMA (secure_delete|wal_checkpoint))\b/

function databaseOf(object: ObjectState): SqliteDatabase {
  const rowsOf = (sql: string, values: readonly SqliteValue[] = []): Row[] => {
    checkSize(values)
    try {
      return object.storage.sql
        .exec(sql, ...values)
        .toArray()
        .map(asRow)
    } catch (error) {
      throw asSqliteError(error)
    }
  }
  return {
    exec: (sql) => {
      if (sql === 'ROLLBACK') object.abort('A change was not saved')
      else if (!hosts.test(sql)) rowsOf(sql)
    },
    prepare: (sql) => ({
      run: (...values) => {
        rowsOf(sql, values)
        // The host's own count has entries of indexes and rows of triggers in it.
        return { changes: numberOf(rowsOf('SELECT changes() AS changes')[0] ?? {}, 'changes') }
      },
      get: (...values) => rowsOf(sql, values)[0],
      all: (...values) => rowsOf(sql, values),
      iterate: (...values) => rowsOf(sql, values).values(),
    }),
    close: () => {},
  }
}

function asRow(row: Record<string, unknown>): Row {
  for (const [name, value] of Object.entries(row)) {
    if (value instanceof ArrayBuffer) row[name] = new Uint8Array(value)
  }
  return row
}

/** The host names the code at the end of the message alone. */
const asSqliteError = (error: unknown): unknown =>
  error instanceof Error && /: SQLITE_[A-Z]+( \(.*\))?$/.test(error.message)
    ? Object.assign(error, { code: 'ERR_SQLITE_ERROR' })
    : error

function checkSize(values: readonly SqliteValue[]): void {
  const bytes = values.reduce<number>((sum, value) => sum + sizeOf(value), 0)
  if (bytes > mostRowBytes) {
    throw new RangeError(`A row of ${bytes} bytes is above the ${mostRowBytes} of a Durable Object`)
  }
}

const sizeOf = (value: SqliteValue): number =>
  typeof value === 'string' ? utf8(value).length : value instanceof Uint8Array ? value.length : 8

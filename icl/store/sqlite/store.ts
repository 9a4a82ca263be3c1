import type { Log } from '../../telemetry/log.ts'
import { recordOf } from '../rows.ts'
import {
  type Barrier,
  lastingAtOnce,
  type Store,
  type StoreRecord,
  type StoreStatus,
} from '../store.ts'
import { createUnreadable, type Unreadable } from '../unreadable.ts'
import { createCommits, type SqliteCommits } from './commits.ts'
import {
  asStoreError,
  isWithoutRoom,
  type Nested,
  type SqliteDatabase,
  savepointsOf,
} from './database.ts'
import { createDocuments } from './documents.ts'
import { wholeJob } from './job-parts.ts'
import { createSqliteReads, wholeEvent } from './reads.ts'
import { createSqliteWrites, type SqliteWrites } from './writes.ts'

/** A store in a sqlite file. A mirror writes tables of its own in the same transactions. */
export type SqliteStore = Store & {
  readonly db: SqliteDatabase
  /** Runs a change within a transaction; resolves once it is committed, as durably as the database is set to be. */
  transact<T>(work: (writes: SqliteWrites) => T): Promise<T>
  /** Does the same, but waits for the next commit instead of causing one. */
  transactSoon<T>(work: (writes: SqliteWrites) => T): Promise<T>
  /** Commits, then runs work that cannot run within a transaction. Does nothing once the store is closed. */
  betweenCommits(work: () => void): void
  /** Returns the same store with saves that return before they are durable. Its callers wait for a barrier before they answer. */
  ahead(): Store
}

/** Creates the store of an open database. It commits saves in groups; a save returns once its commit is on the disk (but see `ahead`). */
export function createSqliteStore(
  db: SqliteDatabase,
  host: Omit<Parameters<typeof createCommits>[1], 'nested'> & {
    /** Savepoints when absent. */
    nested?: Nested
    /** Another connection, for long reads. */
    openReader: () => SqliteDatabase
    close: () => void
    log?: Log | undefined
  },
): SqliteStore {
  const { nested = savepointsOf(db) } = host
  const commits = createCommits(db, { ...host, nested, onUndone: () => documents.forget() })
  const foreign: (() => void)[] = []
  const onForeign = (listener: () => void) => void foreign.push(listener)
  const documents = createDocuments(db, commits.open, () => {
    for (const listener of foreign) listener()
  })
  const unreadable = createUnreadable(host.log)
  commits.onLost(documents.forget)
  const reads = createSqliteReads(db, commits.suspect, { unreadable, documents })
  const writes = createSqliteWrites(db, nested, documents)
  let isOpen = true
  const barrier = (): Barrier => {
    const losses = commits.losses()
    return () => commits.flushed(losses)
  }
  const store: SqliteStore = {
    db,
    transact: (work) => commits.run(() => work(writes)),
    transactSoon: (work) => commits.run(() => work(writes), false),
    betweenCommits: (work) => {
      if (!isOpen) return
      commits.commit()
      work()
    },
    ahead: () => ({
      ...store,
      commits: { barrier, onLost: commits.onLost, onForeign },
      save: async (write) => commits.apply(() => writes.save(write)),
      saveAll: async (all) => commits.apply(() => writes.saveAll(all)),
    }),
    durable: true,
    shared: false,
    commits: { ...lastingAtOnce, onForeign },
    status: () => statusOf(isOpen, commits, unreadable),
    close: async () => {
      if (!isOpen) return
      commits.close()
      isOpen = false
      try {
        // Leaves no log to replay at the next start, so that the file alone is a complete copy.
        if (commits.trouble() === undefined) db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      } catch (error) {
        // On a full or read-only disk the log keeps everything.
        if (!isWithoutRoom(error)) throw error
      } finally {
        host.close()
      }
    },
    save: (write) => commits.run(() => writes.save(write)),
    saveAll: (all) => commits.run(() => writes.saveAll(all)),
    ...reads,
    prune: (options) => commits.run(() => writes.prune(options)),
    dropBlobs: (uploader, bytes, now) => commits.run(() => writes.dropBlobs(uploader, bytes, now)),
    erase: async (record) => {
      // Overwrites freed space, which SQLite otherwise only marks as free.
      db.exec('PRAGMA secure_delete = ON')
      return commits.run(() => writes.erase(record))
    },
    scan: () => scan(host.openReader, barrier(), commits.suspect),
    restore: (record) => commits.run(() => writes.restore(record)),
  }
  return store
}

function statusOf(isOpen: boolean, commits: SqliteCommits, unreadable: Unreadable): StoreStatus {
  const trouble = isOpen ? commits.trouble() : 'The database is closed'
  return {
    connected: isOpen,
    writable: trouble === undefined,
    reasons: [...(trouble === undefined ? [] : [trouble]), ...unreadable.reasons()],
    ...unreadable.figures(),
  }
}

/** The columns of each kind of record, as `recordOf` reads them. */
export const recordQueries: Record<StoreRecord['kind'], string> = {
  job: `SELECT ${wholeJob} FROM jobs`,
  node: 'SELECT address AS id, version, document FROM nodes',
  client: 'SELECT address AS id, version, document FROM clients',
  event: `SELECT id, ${wholeEvent} FROM events`,
  key: 'SELECT key AS id, value, expires_at AS expiresAt FROM keys',
  blob: `
    SELECT cid AS id, bytes, size, uploader, until, used_until AS usedUntil, answered
    FROM blobs JOIN blob_bytes USING (cid)`,
}

/** Yields every record of one snapshot, whatever is saved meanwhile. */
async function* scan(
  openReader: () => SqliteDatabase,
  barrier: Barrier,
  suspect: SqliteCommits['suspect'],
): AsyncGenerator<StoreRecord> {
  let db: SqliteDatabase | undefined
  try {
    // Another connection sees only what is committed.
    await barrier()
    db = openReader()
    db.exec('BEGIN')
    for (const [kind, sql] of Object.entries(recordQueries)) {
      for (const row of db.prepare(sql).iterate()) yield recordOf(kind as StoreRecord['kind'], row)
    }
  } catch (error) {
    suspect(error)
    throw asStoreError(error)
  } finally {
    db?.close()
  }
}

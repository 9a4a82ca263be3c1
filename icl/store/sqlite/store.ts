import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import type { Log } from '../../telemetry/log.ts'
import { bytesOf, documentOf, heldKeyOf, numberOf, textOf } from '../rows.ts'
import {
  type Barrier,
  lastingAtOnce,
  type Store,
  type StoreRecord,
  type StoreStatus,
  type Uploader,
} from '../store.ts'
import { createUnreadable, type Unreadable } from '../unreadable.ts'
import { createCommits, type SqliteCommits } from './commits.ts'
import { asStoreError, type SqliteDatabase } from './database.ts'
import { createDocuments } from './documents.ts'
import { wholeJob } from './job-parts.ts'
import { createSqliteReads, wholeEvent } from './reads.ts'
import { createSqliteWrites, type SqliteWrites } from './writes.ts'

/** A store in a sqlite file. A bridge writes a table of its own in the same transactions. */
export type SqliteStore = Store & {
  readonly db: SqliteDatabase
  /** Runs a change within a transaction; resolves once it is committed, as durably as the database is set to be. */
  transact<T>(work: (writes: SqliteWrites) => T): Promise<T>
  /** Does the same, but waits for the next commit instead of causing one. */
  transactSoon<T>(work: (writes: SqliteWrites) => T): Promise<T>
  /** Commits, then runs work that cannot run within a transaction. */
  betweenCommits(work: () => void): void
  /** Returns the same store with saves that return before they are durable. Its callers wait for a barrier before they answer. */
  ahead(): Store
}

/** Creates the store of an open database. It commits saves in groups; a save returns once its commit is on the disk (but see `ahead`). */
export function createSqliteStore(
  db: SqliteDatabase,
  host: Parameters<typeof createCommits>[1] & {
    /** Another connection, for long reads. */
    openReader: () => SqliteDatabase
    close: () => void
    log?: Log | undefined
  },
): SqliteStore {
  const commits = createCommits(db, { ...host, onUndone: () => documents.forget() })
  const documents = createDocuments(db, commits.open)
  const unreadable = createUnreadable(host.log)
  commits.onLost(documents.forget)
  const reads = createSqliteReads(db, { suspect: commits.suspect, unreadable, documents })
  const writes = createSqliteWrites(db, documents)
  let isOpen = true
  const barrier = (): Barrier => {
    const losses = commits.losses()
    return () => commits.flushed(losses)
  }
  const store: SqliteStore = {
    db,
    transact: (work) => commits.run(() => work(writes)),
    transactSoon: async (work) => {
      const losses = commits.losses()
      const answer = commits.apply(() => work(writes))
      await commits.flushed(losses, false)
      return answer
    },
    betweenCommits: (work) => {
      commits.commit()
      work()
    },
    ahead: () => ({
      ...store,
      commits: { barrier, onLost: commits.onLost },
      save: async (write, writeId) => commits.apply(() => writes.save(write, writeId)),
      saveAll: async (all, writeId) => commits.apply(() => writes.saveAll(all, writeId)),
    }),
    durable: true,
    shared: false,
    commits: lastingAtOnce,
    status: () => statusOf(isOpen, commits, unreadable),
    close: async () => {
      if (!isOpen) return
      commits.close()
      isOpen = false
      // Leaves no log to replay at the next start, so that the file alone is a complete copy.
      if (commits.trouble() === undefined) db.exec('PRAGMA wal_checkpoint(TRUNCATE)')
      host.close()
    },
    save: (write, writeId) => commits.run(() => writes.save(write, writeId)),
    saveAll: (all, writeId) => commits.run(() => writes.saveAll(all, writeId)),
    ...reads,
    prune: (options) => commits.run(() => writes.prune(options)),
    erase: async (record) => {
      // Overwrites freed space, which SQLite otherwise only marks as free.
      db.exec('PRAGMA secure_delete = ON')
      return commits.run(() => writes.erase(record))
    },
    scan: () => watched(scan(host.openReader, barrier()), commits.suspect),
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

async function* watched<T>(
  records: AsyncGenerator<T>,
  suspect: (error: unknown) => void,
): AsyncGenerator<T> {
  try {
    yield* records
  } catch (error) {
    suspect(error)
    throw asStoreError(error)
  }
}

/** Yields every record of one snapshot, whatever is saved meanwhile. */
async function* scan(
  openReader: () => SqliteDatabase,
  barrier: Barrier,
): AsyncGenerator<StoreRecord> {
  // Another connection sees only what is committed.
  await barrier()
  const db = openReader()
  try {
    db.exec('BEGIN')
    for (const row of db.prepare(`SELECT ${wholeJob} FROM jobs`).iterate()) {
      yield { kind: 'job', job: documentOf<Job>(row, 'job'), version: numberOf(row, 'version') }
    }
    const nodes = db.prepare('SELECT address AS id, version, document FROM nodes')
    for (const row of nodes.iterate()) {
      yield { kind: 'node', node: documentOf<Node>(row, 'node'), version: numberOf(row, 'version') }
    }
    const clients = db.prepare('SELECT address AS id, version, document FROM clients')
    for (const row of clients.iterate()) {
      const client = documentOf<Client>(row, 'client')
      yield { kind: 'client', client, version: numberOf(row, 'version') }
    }
    for (const row of db.prepare(`SELECT id, ${wholeEvent} FROM events`).iterate()) {
      yield { kind: 'event', event: documentOf<ReputationEvent>(row, 'event') }
    }
    for (const row of db.prepare('SELECT key, value, expires_at FROM keys').iterate()) {
      yield { kind: 'key', ...heldKeyOf(row) }
    }
    const blobs = db.prepare('SELECT * FROM blobs JOIN blob_bytes USING (cid)')
    for (const row of blobs.iterate()) {
      yield {
        kind: 'blob',
        cid: textOf(row, 'cid'),
        bytes: bytesOf(row, 'bytes'),
        uploader: uploaderOf(textOf(row, 'uploader')),
        until: numberOf(row, 'until'),
      }
    }
  } finally {
    db.close()
  }
}

const uploaderOf = (text: string): Uploader => (text === 'wallet' || text === 'icl' ? text : 'node')

/*
 * What a bridge has on this machine: a copy of the database in a sqlite file, through the ordinary adapter, and one
 * table more with the saves that the database may not have (pending.ts), in the same transactions.
 *
 * Invariants:
 * - A save is in `pending` before it is sent to the database, and until the copy has it or the database has
 *   refused it. So the copy and the sent rows together hold everything that the database has taken.
 * - A save that is judged here is in the copy and in `pending` with one commit.
 * - While the database answers, commits are not flushed: kill -9 loses nothing, a power cut at most what the database
 *   has. While it is away, every commit is flushed before it is acknowledged.
 */

import { textOf } from '../rows.ts'
import type { SqliteStore } from '../sqlite/store.ts'
import type { SqliteWrites } from '../sqlite/writes.ts'
import {
  type DocumentRecord,
  documentIn,
  type StoreRecord,
  type VersionedWrite,
  type Write,
} from '../store.ts'
import type { Merged } from './merge.ts'
import { openPending } from './pending.ts'

/** A copy of the database, and what that may not have. */
export type LocalCopy = ReturnType<typeof createLocalCopy>

const jobsAtOnce = 200

const table =
  'CREATE TABLE IF NOT EXISTS own (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT'

/** Makes a copy of what is in a sqlite store; throws as that does. */
export function createLocalCopy(store: SqliteStore) {
  const { db } = store
  db.exec(table)
  const { note, drop, ...pending } = openPending(db)
  /** Judges a save as the database would; one that was done before is not noted again. */
  const judge = (all: SqliteWrites, writes: readonly Write[], id: string): Write | undefined => {
    const document = documentIn(writes)
    const isDone = document !== undefined && all.isDone(document, id)
    const refused = isDone ? undefined : all.saveAll(writes, id)
    if (refused) drop(id)
    else if (!isDone) note(id, writes, 0)
    // The database may have the blob, and keeps it then; it is not promised.
    if (refused?.kind === 'keep-blob') note(`${id}:${refused.cid}`, [refused], 0)
    return refused
  }
  return {
    store,
    ...ownFacts(store),
    /** Notes a save that is about to be sent to the database; its blobs are kept here from now on. */
    begin: (writes: readonly Write[], id: string): Promise<void> =>
      store.transact((all) => {
        for (const write of writes) if (write.kind === 'blob') all.save(write, id)
        note(id, writes, 1)
      }),
    /** Takes over a save that the database has taken. */
    settle: (writes: readonly Write[], id: string): Promise<void> =>
      store.transactSoon((all) => {
        for (const write of writes) all.take(write, id)
        drop(id)
      }),
    /** Forgets a save that the database has refused, or has by now. */
    drop: (id: string): Promise<void> =>
      store.transact(() => {
        drop(id)
      }),
    /** Saves here what the database is to get later; returns the write that is refused. */
    save: (writes: readonly Write[], id: string): Promise<Write | undefined> =>
      store.transact((all) => judge(all, writes, id)),
    /** Saves here what an earlier process had sent when it ended: nobody was told what became of it, so it is decided here. */
    adopt: (): Promise<void> =>
      store.transact((all) => {
        for (const { id, writes } of pending.listSent()) judge(all, writes, id)
      }),
    /** Puts records in, but those that `isNewer` here. */
    put: (
      records: readonly StoreRecord[],
      isNewer: (record: StoreRecord) => boolean = () => false,
    ) =>
      store.transact((all) => {
        for (const record of records) if (!isNewer(record)) all.put(record)
      }),
    /** Forgets what others may have removed (keys, clients, jobs that are over), or all but the blobs and what waits. */
    clear: async (what: 'removable' | 'all'): Promise<void> => {
      await store.transact((all) => all.clear(what))
      // Few at a time, so that nobody waits for it.
      const over = { now: 0, settledBefore: Number.MAX_SAFE_INTEGER, limit: jobsAtOnce }
      while ((await store.prune(over)) > 0);
    },
    /** Gives saves that wait, after `seq`, as what they come to, in their order; not those that are being sent. */
    takePending: (seq: number, limit: number): Promise<readonly Merged[]> =>
      store.transact(() => pending.take(seq, limit)),
    /** Gives a document up for `found`, which the database has in its place: it gets a version that it never had here. */
    giveUp: (lost: VersionedWrite, found: DocumentRecord | undefined, id: string): Promise<void> =>
      store.transact((all) => {
        pending.dropDocument(lost)
        if (!found) return
        const version = Math.max(found.version, all.versionOf(lost)) + 1
        all.put({ ...found, version })
        note(id, [{ ...found, base: found.version, version }], 0)
      }),
    countPending: pending.count,
    /** Whether commits are flushed to the disk from now on. */
    setFlushed: (isFlushed: boolean): void =>
      store.betweenCommits(() => db.exec(`PRAGMA synchronous = ${isFlushed ? 'FULL' : 'NORMAL'}`)),
  }
}

/** What the process that has this copy knows of itself. */
function ownFacts({ db, transact }: SqliteStore) {
  const find = db.prepare('SELECT value FROM own WHERE name = ?')
  return {
    /** The name of the process that has this copy, the same after a restart; `made` when there is none yet. */
    replicaId: (made: string): string => {
      db.prepare("INSERT INTO own VALUES ('replica-id', ?) ON CONFLICT DO NOTHING").run(made)
      return textOf(find.get('replica-id') ?? {}, 'value')
    },
    /** Whether the process that has this copy has the lock of the database, as far as it was told. */
    hasLock: (): boolean => find.get('lock') !== undefined,
    /** Keeps in mind that it has the lock, or has it no more. */
    noteLock: (has: boolean): Promise<void> =>
      transact(() => {
        db.exec(
          has
            ? "INSERT INTO own VALUES ('lock', '') ON CONFLICT DO NOTHING"
            : "DELETE FROM own WHERE name = 'lock'",
        )
      }),
  }
}

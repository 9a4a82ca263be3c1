/*
 * The part of a bridge on this machine: a copy of the database in a sqlite file, through the ordinary adapter, and a
 * table `pending` with the saves that the database may not have (pending.ts), written in the same transactions.
 *
 * Invariants:
 * - A save is in `pending` from before it is sent to the database until the copy has it or the database has
 *   refused it. So the copy and the sent rows together hold everything that the database has saved.
 * - A save that the copy judges is in the copy and in `pending` with one commit.
 * - While the database answers, commits are not flushed: kill -9 loses nothing, and a power cut loses only saves that the
 *   database has. While the database is away, every commit is flushed before the save is acknowledged.
 */

import { textOf } from '../rows.ts'
import type { SqliteStore } from '../sqlite/store.ts'
import type { DocumentRecord, StoreRecord, VersionedWrite, Write } from '../store.ts'
import { createFill } from './fill.ts'
import { createJudging } from './judging.ts'
import type { Merged } from './merge.ts'
import { openPending } from './pending.ts'

/** A copy of the database, with the saves that the database may not have. */
export type LocalCopy = ReturnType<typeof createLocalCopy>

/** The key of the name of the database. */
export const identityKey = 'database-id'

const jobsAtOnce = 200

const table =
  'CREATE TABLE IF NOT EXISTS own (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT'

/** Makes a local copy of a sqlite store, which may hold the copy of an earlier process. Throws what the store throws. */
export function createLocalCopy(store: SqliteStore) {
  const { db } = store
  db.exec(table)
  const pending = openPending(db)
  const { note, drop } = pending
  const { fill, noteNewer, putBefore, putLeft, ...left } = createFill(store, pending.listSent)
  const { judge, judgeSent } = createJudging(pending, { noteNewer, putBefore, putLeft })
  return {
    store,
    ...ownFacts(store),
    /** Notes a save that is about to be sent to the database, and stores its blobs. */
    begin: (writes: readonly Write[], id: string): Promise<void> =>
      store.transact((all) => {
        for (const write of writes) if (write.kind === 'blob') all.save(write, id)
        note(id, writes, 1)
      }),
    /** Applies a save that the database has accepted. */
    settle: (writes: readonly Write[], id: string): Promise<void> =>
      store.transactSoon((all) => {
        for (const write of writes) all.take(write, id)
        drop(id)
        noteNewer(writes)
      }),
    /** Deletes the note of a save that the database has refused. */
    refuse: (writes: readonly Write[], id: string): Promise<void> =>
      store.transact((all) => {
        drop(id)
        putLeft(all, writes)
      }),
    /** Deletes the note of a save that was replayed. */
    drop: (id: string): Promise<void> =>
      store.transact(() => {
        drop(id)
      }),
    /** Saves in the copy what the database gets later, or has under this id if it `isSent`; returns the refused write. */
    save: (writes: readonly Write[], id: string, isSent: boolean): Promise<Write | undefined> =>
      store.transact((all) => (isSent ? judgeSent : judge)(all, writes, id)),
    /** Judges the saves, or the one with an id, that were sent and not answered: their callers never learned the outcome. */
    adopt: (only?: string): Promise<void> =>
      store.transact((all) => {
        for (const { id, writes } of pending.listSent()) {
          if (id === (only ?? id)) judgeSent(all, writes, id)
        }
      }),
    /** Stores a record of the database. */
    put: (record: StoreRecord): Promise<void> =>
      store.transact((all) => {
        all.put(record)
        noteNewer([record])
      }),
    fill,
    leftOut: left.leftOut,
    /** Deletes what others may have removed (keys, clients, finished jobs), or everything but blobs, waiting saves and the identity. */
    clear: async (what: 'removable' | 'all'): Promise<void> => {
      await store.transact((all) => {
        all.clear(what, identityKey)
        left.forgetLeft()
      })
      // A few at a time, so that other saves can come in between.
      const over = { now: 0, settledBefore: Number.MAX_SAFE_INTEGER, limit: jobsAtOnce }
      while ((await store.prune(over)) > 0);
    },
    /** Returns the first waiting saves, merged and in order. Leaves out those that are being sent. */
    takePending: (limit: number): Promise<readonly Merged[]> =>
      store.transact(() => pending.take(limit)),
    /** Replaces a document by the database's `found`, under a version that the document never had in the copy. */
    giveUp: (lost: VersionedWrite, found: DocumentRecord | undefined, id: string): Promise<void> =>
      store.transact((all) => {
        pending.dropDocument(lost)
        noteNewer([lost])
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

/** Facts that the owner of this copy keeps about itself. */
function ownFacts({ db, transact }: SqliteStore) {
  const find = db.prepare('SELECT value FROM own WHERE name = ?')
  return {
    /** Returns the replica id of this copy's owner, the same after a restart. Stores `made` when there is none yet. */
    replicaId: (made: string): string => {
      db.prepare("INSERT INTO own VALUES ('replica-id', ?) ON CONFLICT DO NOTHING").run(made)
      return textOf(find.get('replica-id') ?? {}, 'value')
    },
    /** Whether the owner of this copy has the lock of the database, as of the last `noteLock`. */
    hasLock: (): boolean => find.get('lock') !== undefined,
    /** Stores whether the owner has the lock. */
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

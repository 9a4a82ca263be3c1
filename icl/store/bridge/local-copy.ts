/*
 * What a bridge has on this machine: a copy of the database in a sqlite file, through the ordinary adapter, and one
 * table more with the saves that the database may not have (`pending`), in the same transactions.
 *
 * Invariants:
 * - A save is in `pending` before it is sent to the database (`sent`), and until the copy has it or the database has
 *   refused it. So the copy and the sent rows together hold everything that the database has taken.
 * - A save that is judged here (`sent` is 0) is in the copy and in `pending` with one commit.
 * - While the database answers, commits are not flushed: kill -9 loses nothing, a power cut at most what the database
 *   has. While it is away, every commit is flushed before it is acknowledged.
 */

import { z } from 'zod'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { decodeDocument, encodeDocument } from '../encoding.ts'
import { corrupt, numberOf, type Row, textOf } from '../sqlite/database.ts'
import type { SqliteStore } from '../sqlite/store.ts'
import type { SqliteWrites } from '../sqlite/writes.ts'
import { documentIn, type StoreRecord, type Write } from '../store.ts'

/** A save that the database may not have, in the order of `seq`. */
export type Pending = {
  readonly seq: number
  readonly id: string
  readonly writes: readonly Write[]
}

/** A copy of the database, and what that may not have. */
export type LocalCopy = ReturnType<typeof createLocalCopy>

const tables = `
  CREATE TABLE IF NOT EXISTS pending (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, sent INTEGER NOT NULL,
    renews TEXT, writes TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS own (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT;
  CREATE INDEX IF NOT EXISTS pending_by_key ON pending (renews) WHERE renews IS NOT NULL;
`

/** Makes a copy of what is in a sqlite store; throws as that does. */
export function createLocalCopy(store: SqliteStore) {
  const { db } = store
  db.exec(tables)
  const add = db.prepare(`
    INSERT INTO pending (id, sent, renews, writes) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET sent = excluded.sent`)
  const drop = db.prepare('DELETE FROM pending WHERE id = ?')
  const dropRenewed = db.prepare('DELETE FROM pending WHERE renews = ? AND id <> ? AND sent = 0')
  const list = db.prepare('SELECT * FROM pending WHERE sent <= ? AND seq > ? ORDER BY seq LIMIT ?')
  const count = db.prepare('SELECT count(*) AS waiting FROM pending')

  const note = (id: string, writes: readonly Write[], sent: 0 | 1): void => {
    const renews = renewedBy(writes)
    // Of a key that is renewed again and again, the last time is enough.
    if (sent === 0 && renews !== undefined) dropRenewed.run(renews, id)
    add.run(id, sent, renews ?? null, encodeWrites(writes))
  }
  /** Judges a save as the database would; one that was done before is not noted again. */
  const judge = (all: SqliteWrites, writes: readonly Write[], id: string): Write | undefined => {
    const document = documentIn(writes)
    const isDone = document !== undefined && all.isDone(document, id)
    const refused = isDone ? undefined : all.saveAll(writes, id)
    if (refused) drop.run(id)
    else if (!isDone) note(id, writes, 0)
    // The database may have the blob, and keeps it then; it is not promised.
    if (refused?.kind === 'keep-blob') note(`${id}:${refused.cid}`, [refused], 0)
    return refused
  }
  const pendingOf = (row: Row): Pending => ({
    seq: numberOf(row, 'seq'),
    id: textOf(row, 'id'),
    writes: decodeWrites(textOf(row, 'writes')),
  })

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
        drop.run(id)
      }),
    /** Forgets a save that the database has refused, or has by now. */
    drop: (id: string): Promise<void> =>
      store.transact(() => {
        drop.run(id)
      }),
    /** Saves here what the database is to get later; returns the write that is refused. */
    save: (writes: readonly Write[], id: string): Promise<Write | undefined> =>
      store.transact((all) => judge(all, writes, id)),
    /** Saves here what an earlier process had sent when it ended: nobody was told what became of it, so it is decided here. */
    adopt: (): Promise<void> =>
      store.transact((all) => {
        for (const row of list.all(1, 0, -1)) {
          const { id, writes } = pendingOf(row)
          if (numberOf(row, 'sent') === 1) judge(all, writes, id)
        }
      }),
    /** Puts records in, but those that `isNewer` here. */
    put: (
      records: readonly StoreRecord[],
      isNewer: (record: StoreRecord) => boolean = () => false,
    ) =>
      store.transact((all) => {
        for (const record of records) if (!isNewer(record)) all.put(record)
      }),
    /** Forgets the keys, which others may have released, or all but the blobs and what waits. */
    clear: (what: 'keys' | 'all'): Promise<void> =>
      store.transact(() => {
        const documents = ['jobs', 'occupied_slots', 'nodes', 'clients', 'events']
        for (const table of what === 'all' ? [...documents, 'keys'] : ['keys']) {
          db.exec(`DELETE FROM ${table}`)
        }
      }),
    /** Saves that wait, in their order, after `seq`; not those that are being sent. */
    listPending: (seq: number, limit: number): readonly Pending[] =>
      list.all(0, seq, limit).map(pendingOf),
    countPending: (): number => numberOf(count.get() ?? {}, 'waiting'),
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

/** The key and its value when a save does nothing but claim or renew one. */
function renewedBy(writes: readonly Write[]): string | undefined {
  const [write, ...others] = writes
  if (write?.kind !== 'key' || others.length > 0) return undefined
  return JSON.stringify([write.key, write.value])
}

const Saved = z.array(
  z.looseObject({
    kind: z.enum(['job', 'node', 'client', 'event', 'key', 'release-key', 'blob', 'keep-blob']),
    bytes: z.string().optional(),
  }),
)

/** Writes as text. */
export const encodeWrites = (writes: readonly Write[]): string =>
  encodeDocument(
    writes.map((write) =>
      write.kind === 'blob' ? { ...write, bytes: toBase64Url(write.bytes) } : write,
    ) as never,
  )

/** Writes from their text; throws when the text was not made by `encodeWrites`. */
export function decodeWrites(text: string): readonly Write[] {
  const parsed = Saved.safeParse(decodeDocument(text))
  if (!parsed.success) throw corrupt('a save that waits', parsed.error)
  return parsed.data.map(({ bytes, ...write }) =>
    bytes === undefined ? write : { ...write, bytes: fromBase64Url(bytes) },
  ) as unknown as Write[]
}

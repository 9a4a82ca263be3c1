/*
 * The table of saves that the database may not have, in the local copy's file. Each row is a save with its id. `sent` tells
 * what the database may know of the save:
 *
 * - 1: the save was sent and is not answered yet. Its outcome is open.
 * - 0: the copy judged the save, and the database does not know it. It may be merged with others.
 * - 2: the copy judged the save, and the database may have it under its id. It stays unchanged until it is replayed.
 */

import { z } from 'zod'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { decodeDocument, encodeDocument } from '../encoding.ts'
import { corrupt, numberOf, type Row, textOf } from '../rows.ts'
import type { SqliteDatabase } from '../sqlite/database.ts'
import { idOf, type VersionedWrite, type Write } from '../store.ts'
import { lockOf } from './locks.ts'
import { type Merged, mergePending, type Pending } from './merge.ts'

const table = `
  CREATE TABLE IF NOT EXISTS pending (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, sent INTEGER NOT NULL,
    renews TEXT, writes TEXT NOT NULL
  ) STRICT;
  CREATE INDEX IF NOT EXISTS pending_by_key ON pending (renews) WHERE renews IS NOT NULL;
`

/** Opens the table, and creates it if needed. Each change runs within a transaction of its caller. */
export function openPending(db: SqliteDatabase) {
  db.exec(table)
  const add = db.prepare(`
    INSERT INTO pending (id, sent, renews, writes) VALUES (?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET sent = CASE
      WHEN excluded.sent = 0 AND pending.sent <> 0 THEN 2 ELSE excluded.sent END`)
  const drop = db.prepare('DELETE FROM pending WHERE id = ?')
  const dropRenewed = db.prepare('DELETE FROM pending WHERE renews = ? AND id <> ? AND sent <> 1')
  const list = db.prepare('SELECT * FROM pending WHERE sent <> 1 ORDER BY seq LIMIT ?')
  const listSent = db.prepare('SELECT * FROM pending WHERE sent = 1 ORDER BY seq')
  const listNaming = db.prepare('SELECT * FROM pending WHERE sent <> 1 AND instr(writes, ?) > 0')
  const dropAt = db.prepare('DELETE FROM pending WHERE seq = ?')
  const replace = db.prepare('UPDATE pending SET id = ?, writes = ? WHERE seq = ?')
  const noteTried = db.prepare('UPDATE pending SET sent = 2 WHERE seq = ?')
  const count = db.prepare('SELECT count(*) AS waiting FROM pending')
  return {
    /** Adds a save that is about to be sent (1) or was judged by the copy (0). */
    note: (id: string, writes: readonly Write[], sent: 0 | 1): void => {
      const renews = renewedBy(writes)
      // Of the renewals of one key, only the last is kept.
      if (sent === 0 && renews !== undefined) dropRenewed.run(renews, id)
      add.run(id, sent, renews ?? null, encodeWrites(writes))
    },
    drop: (id: string): void => {
      drop.run(id)
    },
    /** Removes the writes of a document from every save that the copy judged. */
    dropDocument: (document: VersionedWrite): void => {
      const lock = lockOf(document)
      for (const { seq, id, writes } of listNaming.all(idOf(document)).map(pendingOf)) {
        const left = writes.filter((write) => lockOf(write) !== lock)
        if (left.length === 0) dropAt.run(seq)
        else if (left.length < writes.length) replace.run(id, encodeWrites(left), seq)
      }
    },
    /** Lists the saves that were sent and not answered, in order. */
    listSent: (): readonly Pending[] => listSent.all().map(pendingOf),
    /** Merges the first judged saves, `limit` at most, and marks the results as possibly sent. */
    take: (limit: number): readonly Merged[] => {
      const all = mergePending(list.all(limit).map(pendingOf))
      for (const { seq, id, writes, seqs, isTried } of all) {
        for (const other of seqs) if (other !== seq) dropAt.run(other)
        if (seqs.length > 1) replace.run(id, encodeWrites(writes), seq)
        if (!isTried) noteTried.run(seq)
      }
      return all
    },
    count: (): number => numberOf(count.get() ?? {}, 'waiting'),
  }
}

const pendingOf = (row: Row): Pending => ({
  seq: numberOf(row, 'seq'),
  id: textOf(row, 'id'),
  writes: decodeWrites(textOf(row, 'writes')),
  isTried: numberOf(row, 'sent') !== 0,
})

/** Returns the key and value of a save that only claims or renews one key; undefined for other saves. */
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

/** Encodes writes as text. */
export const encodeWrites = (writes: readonly Write[]): string =>
  encodeDocument(
    writes.map((write) =>
      write.kind === 'blob' ? { ...write, bytes: toBase64Url(write.bytes) } : write,
    ) as never,
  )

/** Decodes writes; throws SvcError `store-corrupt` when `encodeWrites` did not make the text. */
export function decodeWrites(text: string): readonly Write[] {
  return savedIn(text).map(({ bytes, ...write }) =>
    bytes === undefined ? write : { ...write, bytes: fromBase64Url(bytes) },
  ) as unknown as Write[]
}

function savedIn(text: string): z.output<typeof Saved> {
  try {
    return Saved.parse(decodeDocument(text))
  } catch (error) {
    throw corrupt('a save that waits', error)
  }
}

import { numberOf, textOf } from '../rows.ts'
import {
  type Dropped,
  firstToFree,
  type HeldKey,
  mostDropped,
  type RoomName,
  type Store,
  sizeOf,
  type WriteOf,
} from '../store.ts'
import { didChange, type SqliteDatabase } from './database.ts'
import { queries } from './reads.ts'

/** Writes to keys. */
export function createKeyWrites(db: SqliteDatabase) {
  const insert = db.prepare('INSERT INTO keys VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const claim = db.prepare(`
    INSERT INTO keys VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
    WHERE expires_at <= ? OR value = excluded.value OR value = ?`)
  const put = db.prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?)')
  const release = db.prepare('DELETE FROM keys WHERE key = ? AND value = ?')
  const prune = db.prepare(
    'DELETE FROM keys WHERE rowid IN (SELECT rowid FROM keys WHERE expires_at <= ? LIMIT ?)',
  )
  return {
    save: (write: WriteOf<'key' | 'release-key'>): boolean => {
      const { key, value } = write
      if (write.kind === 'release-key') return didChange(release.run(key, value))
      const { expiresAt, now, insteadOf = null } = write
      return didChange(claim.run(key, value, expiresAt, now, insteadOf))
    },
    put: ({ key, value, expiresAt }: HeldKey): void => {
      put.run(key, value, expiresAt)
    },
    restore: ({ key, value, expiresAt }: HeldKey): boolean =>
      didChange(insert.run(key, value, expiresAt)),
    prune: ({ now, limit }: Parameters<Store['prune']>[0]): number =>
      Number(prune.run(now, limit).changes),
  }
}

/** Writes to blobs. */
export function createBlobWrites(db: SqliteDatabase) {
  const insert = db.prepare('INSERT INTO blobs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING')
  const insertBytes = db.prepare('INSERT INTO blob_bytes VALUES (?, ?)')
  const keep = db.prepare(`
    UPDATE blobs SET until = max(until, ?), used_until = max(used_until, ?), answered = max(answered, ?)
    WHERE cid = ?`)
  const listUnused = db.prepare(queries.listUnusedBlobs)
  const listExpired = db.prepare('SELECT cid FROM blobs WHERE until <= ? ORDER BY until LIMIT ?')
  const remove = db.prepare('DELETE FROM blobs WHERE cid = ?')
  const removeBytes = db.prepare('DELETE FROM blob_bytes WHERE cid = ?')
  const add = (blob: WriteOf<'blob'>) => {
    const { cid, bytes, uploader, until, usedUntil = 0, isAnswered } = blob
    const values = [sizeOf(blob), until, usedUntil, Number(isAnswered ?? false)]
    if (!didChange(insert.run(cid, uploader, ...values))) return false
    insertBytes.run(cid, bytes)
    return true
  }
  const keepLonger = ({ cid, until, usedUntil = 0, isAnswered }: WriteOf<'blob' | 'keep-blob'>) =>
    didChange(keep.run(until, usedUntil, Number(isAnswered ?? false), cid))
  const erase = (cid: string): boolean => {
    removeBytes.run(cid)
    return didChange(remove.run(cid))
  }
  return {
    insert: add,
    erase,
    save: (write: WriteOf<'blob' | 'keep-blob'>): boolean =>
      (write.kind === 'blob' && add(write)) ||
      keepLonger(write) ||
      ('mayBeAbsent' in write && write.mayBeAbsent === true),
    prune: ({ now, limit }: Parameters<Store['prune']>[0]): number => {
      const expired = listExpired.all(now, limit).map(({ cid }) => String(cid))
      for (const cid of expired) erase(cid)
      return expired.length
    },
    drop: (uploader: RoomName, bytes: number, now: number): readonly Dropped[] => {
      const list = listUnused.all(uploader, now, mostDropped)
      const unused = list.map((row) => ({ cid: textOf(row, 'cid'), size: numberOf(row, 'size') }))
      const dropped = firstToFree(unused, bytes)
      for (const { cid } of dropped) erase(cid)
      return dropped
    },
  }
}

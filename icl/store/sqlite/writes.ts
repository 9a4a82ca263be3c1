import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { encodeDocument } from '../encoding.ts'
import { indexOfJob, type JobIndex } from '../job-index.ts'
import {
  documentIn,
  type Erasable,
  type HeldKey,
  type Store,
  type StoreRecord,
  type VersionedWrite,
  versionOf,
  type Write,
} from '../store.ts'
import { numberOf, type SqliteDatabase, type Statement } from './database.ts'
import type { DocumentCodec } from './document-codec.ts'

/** Every change of the database; each runs within a transaction of its caller. */
export function createSqliteWrites(db: SqliteDatabase, documents: DocumentCodec) {
  const tables = createTables(db, documents)
  return { ...saving(db, tables), ...copying(tables) }
}

type Tables = ReturnType<typeof createTables>

function createTables(db: SqliteDatabase, { encode }: DocumentCodec) {
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING')
  return {
    jobs: createJobWrites(db, encode),
    nodes: createNodeWrites(db, encode),
    clients: createClientWrites(db, encode),
    keys: createKeyWrites(db),
    blobs: createBlobWrites(db),
    addEvent: ({ event }: Extract<Write, { kind: 'event' }>): boolean =>
      didChange(insertEvent.run(event.id, event.node, event.at, encodeDocument(event))),
  }
}

function save(tables: Tables, write: Write, writeId: string | undefined): boolean {
  const { jobs, nodes, clients, keys, blobs, addEvent } = tables
  switch (write.kind) {
    case 'job':
      return saveVersioned(jobs, write, write.job, writeId)
    case 'node':
      return saveVersioned(nodes, write, write.node, writeId)
    case 'client':
      return saveVersioned(clients, write, write.client, writeId)
    case 'event':
      return addEvent(write)
    case 'key':
    case 'release-key':
      return keys.save(write)
    case 'blob':
    case 'keep-blob':
      return blobs.save(write)
  }
}

function saving(db: SqliteDatabase, tables: Tables) {
  const { jobs, nodes, clients, keys, blobs } = tables
  const savepoint = db.prepare('SAVEPOINT writes')
  const undo = db.prepare('ROLLBACK TO writes')
  const release = db.prepare('RELEASE writes')
  const find = (write: VersionedWrite) =>
    ({ job: jobs, node: nodes, client: clients })[write.kind].find.get(idOf(write))
  const isDone = (write: VersionedWrite, writeId: string): boolean =>
    find(write)?.write_id === writeId
  return {
    save: (write: Write, writeId: string | undefined): boolean => save(tables, write, writeId),
    saveAll: (writes: readonly Write[], writeId: string | undefined): Write | undefined => {
      const document = documentIn(writes)
      if (writeId !== undefined && document && isDone(document, writeId)) return undefined
      savepoint.run()
      const refused = writes.find((write) => !save(tables, write, writeId))
      if (refused) undo.run()
      release.run()
      return refused
    },
    /** True when the save of this id brought a document to where it is. */
    isDone,
    /** The version of the document that a write is of; 0 when it is not there. */
    versionOf: (write: VersionedWrite): number => {
      const found = find(write)
      return found ? numberOf(found, 'version') : 0
    },
    prune: (options: Parameters<Store['prune']>[0]): number =>
      jobs.prune(options) + keys.prune(options) + blobs.prune(options),
    erase: (record: Erasable): boolean => {
      if (record.kind === 'job') return didChange(jobs.erase.run(record.id))
      if (record.kind === 'client') return didChange(clients.erase.run(record.address))
      return blobs.erase(record.cid)
    },
  }
}

function copying(tables: Tables) {
  const { jobs, nodes, clients, keys, blobs, addEvent } = tables
  const put = (record: StoreRecord, writeId?: string): void => {
    if (record.kind === 'job') jobs.put(record.job, record.version, writeId)
    else if (record.kind === 'node') nodes.put(record.node, record.version, writeId)
    else if (record.kind === 'client') clients.put(record.client, record.version, writeId)
    else if (record.kind === 'key') keys.put(record)
    else if (record.kind === 'event') addEvent(record)
    else blobs.save(record)
  }
  return {
    /** Puts a record in, whatever is in its place. */
    put: (record: StoreRecord): void => put(record),
    /** Does what another store has accepted, whatever is in its place. */
    take: (write: Write, writeId: string): void => {
      if ('base' in write) put({ ...write, version: versionOf(write) }, writeId)
      else if (write.kind === 'key') put(write)
      else save(tables, write, writeId)
    },
    restore: (record: StoreRecord): boolean => {
      switch (record.kind) {
        case 'job':
          if (jobs.find.get(record.job.id)) return false
          break
        case 'node':
          if (nodes.find.get(record.node.address)) return false
          break
        case 'client':
          if (clients.find.get(record.client.address)) return false
          break
        case 'event':
          return addEvent(record)
        case 'key':
          return keys.restore(record)
        case 'blob':
          return blobs.insert(record)
      }
      put(record)
      return true
    },
  }
}

export type SqliteWrites = ReturnType<typeof createSqliteWrites>

/** What a document is found by. */
export const idOf = (write: VersionedWrite): string => {
  if (write.kind === 'job') return write.job.id
  return write.kind === 'node' ? write.node.address : write.client.address
}

const didChange = ({ changes }: { readonly changes: number | bigint }): boolean => changes > 0

type Documents<T> = {
  /** Finds a document's `version` and `write_id`. */
  readonly find: Statement
  put(document: T, version: number, writeId: string | undefined): void
}

function saveVersioned<T>(
  { find, put }: Documents<T>,
  write: VersionedWrite,
  document: T,
  writeId: string | undefined,
): boolean {
  const known = find.get(idOf(write))
  if (writeId !== undefined && known?.write_id === writeId) return true
  if ((known ? numberOf(known, 'version') : 0) !== write.base) return false
  put(document, versionOf(write), writeId)
  return true
}

/** What a row of `jobs` is found by, besides its change. */
const jobColumns = [
  'client',
  'phase',
  'created_at',
  'settled_at',
  'tick_at',
  'effects_due_at',
  'effects',
] as const

function createJobWrites(db: SqliteDatabase, encode: DocumentCodec['encode']) {
  const find = db.prepare(
    `SELECT version, write_id, ${jobColumns.join(', ')} FROM jobs WHERE id = ?`,
  )
  const count = db.prepare(
    "UPDATE counters SET value = value + 1 WHERE name = 'changes' RETURNING value",
  )
  const insert = db.prepare('INSERT INTO jobs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)')
  // An index is rewritten for each column that a statement names, whether or not its value is another one.
  const updates = new Map<string, Statement>()
  const updateOf = (columns: readonly string[]): Statement => {
    const sets = ['version', 'write_id', 'change', 'document', ...columns].map(
      (column) => `${column} = ?`,
    )
    const sql = `UPDATE jobs SET ${sets.join(', ')} WHERE id = ?`
    const known = updates.get(sql) ?? db.prepare(sql)
    updates.set(sql, known)
    return known
  }
  const listOccupied = db.prepare(
    'SELECT node, status FROM occupied_slots WHERE job = ? ORDER BY position',
  )
  const clearOccupied = db.prepare('DELETE FROM occupied_slots WHERE job = ?')
  const addOccupied = db.prepare('INSERT INTO occupied_slots VALUES (?, ?, ?, ?)')
  const occupy = (id: Job['id'], occupied: JobIndex['occupied']): void => {
    const known = listOccupied.all(id)
    const isSame =
      known.length === occupied.length &&
      occupied.every(
        ({ node, status }, at) => known[at]?.node === node && known[at]?.status === status,
      )
    if (isSame) return
    clearOccupied.run(id)
    for (const [position, { node, status }] of occupied.entries()) {
      addOccupied.run(node, status, id, position)
    }
  }
  const prune = db.prepare(`
    DELETE FROM jobs WHERE rowid IN (
      SELECT rowid FROM jobs
      WHERE settled_at IS NOT NULL AND effects_due_at IS NULL AND settled_at < ?
      ORDER BY settled_at LIMIT ?)`)
  return {
    find,
    erase: db.prepare(
      'DELETE FROM jobs WHERE id = ? AND settled_at IS NOT NULL AND effects_due_at IS NULL',
    ),
    put: (job: Job, version: number, writeId: string | undefined): void => {
      const index = indexOfJob(job)
      const values = [
        index.client,
        index.phase,
        index.createdAt,
        index.settledAt ?? null,
        index.tickAt ?? null,
        index.effectsDueAt ?? null,
        index.effects,
      ]
      const change = numberOf(count.get() ?? {}, 'value')
      const document = encode(job)
      const head = [version, writeId ?? null, change]
      const known = find.get(job.id)
      if (known) {
        const changed = jobColumns.flatMap((column, at) => {
          const value = values[at] ?? null
          return known[column] === value ? [] : [{ column, value }]
        })
        const update = updateOf(changed.map(({ column }) => column))
        update.run(...head, document, ...changed.map(({ value }) => value), job.id)
      } else insert.run(job.id, ...head, ...values, document)
      occupy(job.id, index.occupied)
    },
    prune: ({ settledBefore, limit }: Parameters<Store['prune']>[0]): number =>
      Number(prune.run(settledBefore, limit).changes),
  }
}

function createNodeWrites(db: SqliteDatabase, encode: DocumentCodec['encode']) {
  const find = db.prepare('SELECT version, write_id FROM nodes WHERE address = ?')
  const update = db.prepare(
    'UPDATE nodes SET version = ?, write_id = ?, document = ? WHERE address = ? AND expires_at = ?',
  )
  const put = db.prepare('INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?)')
  return {
    find,
    put: (node: Node, version: number, writeId: string | undefined): void => {
      const { address, certificate } = node
      const [id, end, document] = [writeId ?? null, certificate.expiresAt, encode(node)]
      if (didChange(update.run(version, id, document, address, end))) return
      put.run(address, version, id, end, document)
    },
  }
}

function createClientWrites(db: SqliteDatabase, encode: DocumentCodec['encode']) {
  const upsert = db.prepare(`
    INSERT INTO clients VALUES (?, ?, ?, ?)
    ON CONFLICT (address) DO UPDATE SET
      version = excluded.version, write_id = excluded.write_id, document = excluded.document`)
  return {
    find: db.prepare('SELECT version, write_id FROM clients WHERE address = ?'),
    erase: db.prepare('DELETE FROM clients WHERE address = ?'),
    put: (client: Client, version: number, writeId: string | undefined): void => {
      upsert.run(client.address, version, writeId ?? null, encode(client))
    },
  }
}

function createKeyWrites(db: SqliteDatabase) {
  const insert = db.prepare('INSERT INTO keys VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
  const claim = db.prepare(`
    INSERT INTO keys VALUES (?, ?, ?)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
    WHERE expires_at <= ? OR value = excluded.value OR value = ?`)
  const put = db.prepare('INSERT OR REPLACE INTO keys VALUES (?, ?, ?)')
  const release = db.prepare('DELETE FROM keys WHERE key = ? AND value = ?')
  const prune = db.prepare(
    'DELETE FROM keys WHERE key IN (SELECT key FROM keys WHERE expires_at <= ? LIMIT ?)',
  )
  return {
    save: (write: Extract<Write, { kind: 'key' | 'release-key' }>): boolean => {
      const { key, value } = write
      if (write.kind === 'release-key') return didChange(release.run(key, value))
      const { expiresAt, now, insteadOf = null } = write
      return didChange(claim.run(key, value, expiresAt, now, insteadOf))
    },
    put: ({ key, value, expiresAt }: HeldKey): void => {
      put.run(key, value, expiresAt)
    },
    restore: ({ key, value, expiresAt }: Extract<StoreRecord, { kind: 'key' }>): boolean =>
      didChange(insert.run(key, value, expiresAt)),
    prune: ({ now, limit }: Parameters<Store['prune']>[0]): number =>
      Number(prune.run(now, limit).changes),
  }
}

function createBlobWrites(db: SqliteDatabase) {
  const insert = db.prepare('INSERT INTO blobs VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING')
  const insertBytes = db.prepare('INSERT INTO blob_bytes VALUES (?, ?)')
  const keep = db.prepare('UPDATE blobs SET until = max(until, ?) WHERE cid = ?')
  const listExpired = db.prepare('SELECT cid FROM blobs WHERE until <= ? ORDER BY until LIMIT ?')
  const remove = db.prepare('DELETE FROM blobs WHERE cid = ?')
  const removeBytes = db.prepare('DELETE FROM blob_bytes WHERE cid = ?')
  const add = ({ cid, bytes, uploader, until }: Extract<StoreRecord, { kind: 'blob' }>) => {
    if (!didChange(insert.run(cid, uploader, bytes.length, until))) return false
    insertBytes.run(cid, bytes)
    return true
  }
  const erase = (cid: string): boolean => {
    removeBytes.run(cid)
    return didChange(remove.run(cid))
  }
  return {
    insert: add,
    erase,
    save: (
      write:
        | Extract<Write, { kind: 'blob' | 'keep-blob' }>
        | Extract<StoreRecord, { kind: 'blob' }>,
    ): boolean =>
      (write.kind === 'blob' && add(write)) || didChange(keep.run(write.until, write.cid)),
    prune: ({ now, limit }: Parameters<Store['prune']>[0]): number => {
      const expired = listExpired.all(now, limit).map(({ cid }) => String(cid))
      for (const cid of expired) erase(cid)
      return expired.length
    },
  }
}

import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import { encodeDocument } from '../encoding.ts'
import { numberOf, type Row } from '../rows.ts'
import {
  type DocumentRecord,
  documentIn,
  type Erasable,
  idOf,
  recordBy,
  type Store,
  type StoreRecord,
  type VersionedWrite,
  type Write,
  type WriteOf,
} from '../store.ts'
import { didChange, type Nested, type SqliteDatabase } from './database.ts'
import type { AllDocuments, Documents } from './documents.ts'
import { createJobWrites } from './job-writes.ts'
import { createBlobWrites, createKeyWrites } from './key-writes.ts'

/** Every write to the database; each runs within a transaction of its caller. */
export function createSqliteWrites(db: SqliteDatabase, nested: Nested, documents: AllDocuments) {
  const tables = createTables(db, documents)
  return {
    ...saving(nested, tables),
    ...removing(tables, documents),
    ...copying(tables),
  }
}

type Tables = ReturnType<typeof createTables>

function createTables(db: SqliteDatabase, documents: AllDocuments) {
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING')
  return {
    job: createJobWrites(db, documents),
    node: createNodeWrites(db, documents.nodes),
    client: createClientWrites(db, documents.clients),
    keys: createKeyWrites(db),
    blobs: createBlobWrites(db),
    addEvent: ({ event }: WriteOf<'event'>): boolean => {
      const { id, node, at, ...rest } = event
      return didChange(insertEvent.run(id, node, at, encodeDocument(rest)))
    },
  }
}

function save(tables: Tables, write: Write): boolean {
  switch (write.kind) {
    case 'job':
    case 'node':
    case 'client':
      return saveVersioned(tables, write)
    case 'event':
      return tables.addEvent(write)
    case 'key':
    case 'release-key':
      return tables.keys.save(write)
    case 'blob':
    case 'keep-blob':
      return tables.blobs.save(write)
  }
}

/** Returns the version of a document. */
const findRow = (tables: Tables, one: VersionedWrite | DocumentRecord): Row | undefined =>
  tables[one.kind].find.get(idOf(one))

const versionIn = (tables: Tables, write: VersionedWrite): number =>
  numberOf(findRow(tables, write) ?? { version: 0 }, 'version')

function saveVersioned(tables: Tables, write: VersionedWrite): boolean {
  const known = tables[write.kind].documents.known(idOf(write))
  if ((known?.version ?? versionIn(tables, write)) !== write.base) return false
  put(tables, recordBy(write))
  return true
}

function put(tables: Tables, record: StoreRecord): void {
  if (record.kind === 'job') tables.job.put(record.job, record.version)
  else if (record.kind === 'node') tables.node.put(record.node, record.version)
  else if (record.kind === 'client') tables.client.put(record.client, record.version)
  else if (record.kind === 'key') tables.keys.put(record)
  else if (record.kind === 'event') tables.addEvent(record)
  else tables.blobs.save(record)
}

/** Thrown to undo the writes before a refused one. */
const undone = new Error('A write is refused')

function saving(nested: Nested, tables: Tables) {
  return {
    save: (write: Write): boolean => save(tables, write),
    saveAll: (writes: readonly Write[]): Write | undefined => {
      const document = documentIn(writes)
      const findRefused = () => writes.find((write) => !save(tables, write))
      if (writes.length < 2) return findRefused()
      let refused: Write | undefined
      try {
        nested(() => {
          refused = findRefused()
          if (refused) throw undone
        })
      } catch (error) {
        if (error !== undone) throw error
        if (document) tables[document.kind].documents.forget(idOf(document))
      }
      return refused
    },
  }
}

function removing({ job, client, keys, blobs }: Tables, documents: AllDocuments) {
  return {
    prune: (options: Parameters<Store['prune']>[0]): number => {
      documents.forget()
      return job.prune(options) + keys.prune(options) + blobs.prune(options)
    },
    dropBlobs: blobs.drop,
    /** Drops what is cached, when rows change in other ways. */
    forget: documents.forget,
    erase: (record: Erasable): boolean => {
      documents.forget()
      if (record.kind === 'job') return didChange(job.erase.run(record.id))
      if (record.kind === 'client') return didChange(client.erase.run(record.address))
      return blobs.erase(record.cid)
    },
  }
}

const copying = (tables: Tables) => ({
  /** Stores a record, and replaces a document or key. An event or blob that is there stays. */
  put: (record: StoreRecord): void => put(tables, record),
  restore: (record: StoreRecord): boolean => {
    if (record.kind === 'event') return tables.addEvent(record)
    if (record.kind === 'key') return tables.keys.restore(record)
    if (record.kind === 'blob') return tables.blobs.insert(record)
    if (findRow(tables, record)) return false
    put(tables, record)
    return true
  },
})

export type SqliteWrites = ReturnType<typeof createSqliteWrites>

function createNodeWrites(db: SqliteDatabase, documents: Documents<Node>) {
  const find = db.prepare('SELECT version FROM nodes WHERE address = ?')
  const update = db.prepare(
    'UPDATE nodes SET version = ?, document = ? WHERE address = ? AND expires_at = ?',
  )
  const put = db.prepare('INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?)')
  return {
    find,
    documents,
    put: (node: Node, version: number): void => {
      const { address, certificate } = node
      const [end, document] = [certificate.expiresAt, documents.encode(node, version)]
      if (didChange(update.run(version, document, address, end))) return
      put.run(address, version, end, document)
    },
  }
}

function createClientWrites(db: SqliteDatabase, documents: Documents<Client>) {
  const put = db.prepare('INSERT OR REPLACE INTO clients VALUES (?, ?, ?)')
  return {
    find: db.prepare('SELECT version FROM clients WHERE address = ?'),
    documents,
    erase: db.prepare('DELETE FROM clients WHERE address = ?'),
    put: (client: Client, version: number): void => {
      put.run(client.address, version, documents.encode(client, version))
    },
  }
}

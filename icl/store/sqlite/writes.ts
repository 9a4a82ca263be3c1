import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import { encodeDocument } from '../encoding.ts'
import {
  documentIn,
  type Erasable,
  type Store,
  type StoreRecord,
  type VersionedWrite,
  versionOf,
  type Write,
} from '../store.ts'
import { didChange, numberOf, type Row, type SqliteDatabase, type Statement } from './database.ts'
import type { AllDocuments, Documents } from './documents.ts'
import { createJobWrites } from './job-writes.ts'
import { createBlobWrites, createKeyWrites } from './key-writes.ts'

/** Every change of the database; each runs within a transaction of its caller. */
export function createSqliteWrites(db: SqliteDatabase, documents: AllDocuments) {
  const tables = createTables(db, documents)
  return {
    ...saving(db, tables),
    ...removing(db, tables, documents),
    ...copying(tables),
  }
}

type Tables = ReturnType<typeof createTables>

function createTables(db: SqliteDatabase, documents: AllDocuments) {
  const insertEvent = db.prepare('INSERT INTO events VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING')
  return {
    jobs: createJobWrites(db, documents.jobs),
    nodes: createNodeWrites(db, documents.nodes),
    clients: createClientWrites(db, documents.clients),
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
  const { jobs, nodes, clients } = tables
  const tableOf = ({ kind }: VersionedWrite) => ({ job: jobs, node: nodes, client: clients })[kind]
  const savepoint = db.prepare('SAVEPOINT writes')
  const undo = db.prepare('ROLLBACK TO writes')
  const release = db.prepare('RELEASE writes')
  const isDone = (write: VersionedWrite, writeId: string): boolean =>
    tableOf(write).find.get(idOf(write))?.write_id === writeId
  return {
    save: (write: Write, writeId: string | undefined): boolean => save(tables, write, writeId),
    saveAll: (writes: readonly Write[], writeId: string | undefined): Write | undefined => {
      const document = documentIn(writes)
      if (writeId !== undefined && document && isDone(document, writeId)) return undefined
      const findRefused = () => writes.find((write) => !save(tables, write, writeId))
      if (writes.length < 2) return findRefused()
      savepoint.run()
      const refused = findRefused()
      if (refused) undo.run()
      if (refused && document) tableOf(document).documents.forget(idOf(document))
      release.run()
      return refused
    },
    /** True when the save of this id brought a document to where it is. */
    isDone,
    /** The version of the document that a write is of; 0 when it is not there. */
    versionOf: (write: VersionedWrite): number =>
      storedVersion(tableOf(write).find.get(idOf(write))),
  }
}

function removing(
  db: SqliteDatabase,
  { jobs, clients, keys, blobs }: Tables,
  documents: AllDocuments,
) {
  return {
    /** Forgets the keys, or all but the blobs. */
    clear: (what: 'keys' | 'all'): void => {
      documents.forget()
      const others = ['jobs', 'occupied_slots', 'nodes', 'clients', 'events']
      for (const table of what === 'all' ? [...others, 'keys'] : ['keys']) {
        db.exec(`DELETE FROM ${table}`)
      }
    },
    prune: (options: Parameters<Store['prune']>[0]): number => {
      documents.forget()
      return jobs.prune(options) + keys.prune(options) + blobs.prune(options)
    },
    erase: (record: Erasable): boolean => {
      documents.forget()
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

type Table<T> = {
  /** Finds a document's `version` and `write_id`. */
  readonly find: Statement
  readonly documents: Documents<T>
  put(document: T, version: number, writeId: string | undefined): void
}

function saveVersioned<T>(
  { find, documents, put }: Table<T>,
  write: VersionedWrite,
  document: T,
  writeId: string | undefined,
): boolean {
  const id = idOf(write)
  if (writeId !== undefined && find.get(id)?.write_id === writeId) return true
  if ((documents.known(id)?.version ?? storedVersion(find.get(id))) !== write.base) return false
  put(document, versionOf(write), writeId)
  return true
}

const storedVersion = (row: Row | undefined): number => (row ? numberOf(row, 'version') : 0)

function createNodeWrites(db: SqliteDatabase, documents: Documents<Node>) {
  const find = db.prepare('SELECT version, write_id FROM nodes WHERE address = ?')
  const update = db.prepare(
    'UPDATE nodes SET version = ?, write_id = ?, document = ? WHERE address = ? AND expires_at = ?',
  )
  const put = db.prepare('INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?)')
  return {
    find,
    documents,
    put: (node: Node, version: number, writeId: string | undefined): void => {
      const { address, certificate } = node
      const [id, end, document] = [
        writeId ?? null,
        certificate.expiresAt,
        documents.encode(node, version),
      ]
      if (didChange(update.run(version, id, document, address, end))) return
      put.run(address, version, id, end, document)
    },
  }
}

function createClientWrites(db: SqliteDatabase, documents: Documents<Client>) {
  const upsert = db.prepare(`
    INSERT INTO clients VALUES (?, ?, ?, ?)
    ON CONFLICT (address) DO UPDATE SET
      version = excluded.version, write_id = excluded.write_id, document = excluded.document`)
  return {
    find: db.prepare('SELECT version, write_id FROM clients WHERE address = ?'),
    documents,
    erase: db.prepare('DELETE FROM clients WHERE address = ?'),
    put: (client: Client, version: number, writeId: string | undefined): void => {
      upsert.run(client.address, version, writeId ?? null, documents.encode(client, version))
    },
  }
}

/*
 * Problem: each request reads the documents of its job and its node several times, and each save compares the new document with the
 * old one. Reading and decoding rows costs more than the rest of most saves.
 *
 * Idea: the documents that were decoded or saved last stay in memory with their versions, and so do the ids of each node's jobs.
 *
 * Invariants:
 * - The cache holds the documents of the last look at SQLite's `data_version`. A commit of another process changes that value, and
 *   the next look clears the cache. No other process can commit while a transaction is open here.
 * - Whatever is undone is forgotten (`forget`): a change, a group of changes, or the applied part of a refused save.
 * - Callers share documents: no caller changes one in place.
 */
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { encodeDocument, idOfDocument } from '../encoding.ts'
import { documentOf, numberOf, type Row, textOf } from '../rows.ts'
import type { Versioned } from '../store.ts'
import type { SqliteDatabase } from './database.ts'

/** The cached documents of all tables. */
export type AllDocuments = ReturnType<typeof createDocuments>

/** The cached documents of one table. */
export type Documents<T extends Job | Node | Client> = ReturnType<typeof documentsOf<T>>

/** Creates the cache of a connection: 8 Mi characters each of jobs and nodes, and 256 Ki of clients; the oldest go first. */
export function createDocuments(
  db: SqliteDatabase,
  transaction: () => object | undefined,
  onForeign: () => void,
) {
  const dataVersion = db.prepare('PRAGMA data_version')
  let seen: unknown
  let seenIn: object | undefined
  const look = () => {
    const open = transaction()
    if (open !== undefined && open === seenIn) return
    const now = dataVersion.get()?.data_version
    const isForeign = now !== seen && seen !== undefined
    if (now !== seen) forget()
    seen = now
    seenIn = open
    if (isForeign) onForeign()
  }
  const tables = {
    jobs: documentsOf<Job>(look, 'job', 8_388_608),
    nodes: documentsOf<Node>(look, 'node', 8_388_608),
    clients: documentsOf<Client>(look, 'client', 262_144),
  }
  /** The rows of the jobs in which a node occupies a slot. A save that changes them drops those of its nodes. */
  const jobsOfNodes = new Map<string, readonly Row[]>()
  const forget = () => {
    for (const documents of Object.values(tables)) documents.forget()
    jobsOfNodes.clear()
  }
  return {
    ...tables,
    jobsOfNodes,
    /** Clears the cache if another process has committed. Must run before rows are read: their documents are cached as of this look. */
    look,
    forget,
  }
}

function documentsOf<T extends Job | Node | Client>(
  look: () => void,
  what: string,
  mostCharacters: number,
) {
  const entries = new Map<string, Versioned<T> & { readonly characters: number }>()
  let characters = 0
  const forget = (id?: string): void => {
    if (id === undefined) {
      entries.clear()
      characters = 0
      return
    }
    characters -= entries.get(id)?.characters ?? 0
    entries.delete(id)
  }
  const note = (id: string, document: T, version: number, length: number): void => {
    forget(id)
    entries.set(id, { document, version, characters: length })
    characters += length
    for (const oldest of entries.keys()) {
      if (characters <= mostCharacters) break
      forget(oldest)
    }
  }
  return {
    /** Looks, then returns the cached document; undefined when it is not in memory. */
    known: (id: string): Versioned<T> | undefined => {
      look()
      return entries.get(id)
    },
    /** Decodes a row with `id`, `version` and `document` that was read after the last look. Throws SvcError `store-corrupt`. */
    decode: (row: Row): Versioned<T> => {
      const [id, version] = [textOf(row, 'id'), numberOf(row, 'version')]
      // Does not look: the row was read before any later commit of another process.
      const found = entries.get(id)
      if (found?.version === version) return found
      const document = documentOf<T>(row, what)
      note(id, document, version, textOf(row, 'document').length)
      return { document, version }
    },
    /** Caches a document that is about to be saved as this version; returns its text, or that of its `changing` part. */
    encode: (document: T, version: number, changing: Partial<T> = document): string => {
      const text = encodeDocument(changing)
      note(idOfDocument(document), document, version, text.length)
      return text
    },
    /** Forgets one document, or all. */
    forget,
  }
}

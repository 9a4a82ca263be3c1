/*
 * Problem: each request reads the documents of its job and its node several times, and each save looks at what it takes the place
 * of. To read a row, to decode it and to compare it costs more than the rest of most saves.
 *
 * Idea: what was decoded or saved last stays in memory with its version, and is read there.
 *
 * Invariants:
 * - What is here was read no earlier than the last look at SQLite's `data_version`. Another process that commits changes that,
 *   and the next look forgets all of it. None can while a transaction is open here.
 * - What is undone is forgotten (`forget`): a change, a group of changes, the part of a save that was made before it was refused.
 * - Callers share a document: nobody changes one in place.
 */
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { encodeDocument } from '../encoding.ts'
import { documentOf, numberOf, type Row, textOf } from '../rows.ts'
import type { Versioned } from '../store.ts'
import type { SqliteDatabase } from './database.ts'

/** The documents of one table, as this connection reads them. */
export type Documents<T> = {
  /** What is in memory of a document that is there, after a look. */
  known(id: string): Versioned<T> | undefined
  /** The document of a row that has its id and version, too, and was read after the last look; throws SvcError `store-corrupt` when it cannot be read. */
  decode(row: Row): Versioned<T>
  /** The text of a document, or of its part that changes, which is about to be saved as this version. */
  encode(document: T, version: number, changing?: Partial<T>): string
  /** Forgets one, or all. */
  forget(id?: string): void
}

/** Those of all tables. */
export type AllDocuments = {
  readonly jobs: Documents<Job>
  readonly nodes: Documents<Node>
  readonly clients: Documents<Client>
  /** Forgets what another process may have changed. Comes before rows are read: their documents are kept as of this look. */
  look(): void
  forget(): void
}

/** Keeps in memory what a connection read or saved last: about a thousand jobs, and ten thousand nodes. */
export function createDocuments(
  db: SqliteDatabase,
  transaction: () => object | undefined,
): AllDocuments {
  const dataVersion = db.prepare('PRAGMA data_version')
  let seen: unknown
  let seenIn: object | undefined
  const look = () => {
    const open = transaction()
    if (open !== undefined && open === seenIn) return
    const now = dataVersion.get()?.data_version
    if (now !== seen) forget()
    seen = now
    seenIn = open
  }
  const jobs = documentsOf<Job>(look, 'job', 8_388_608)
  const nodes = documentsOf<Node>(look, 'node', 8_388_608)
  const clients = documentsOf<Client>(look, 'client', 262_144)
  const forget = () => {
    for (const documents of [jobs, nodes, clients]) documents.forget()
  }
  return { jobs, nodes, clients, look, forget }
}

function documentsOf<T extends Job | Node | Client>(
  look: () => void,
  what: string,
  mostCharacters: number,
): Documents<T> {
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
    known: (id) => {
      look()
      return entries.get(id)
    },
    decode: (row) => {
      const [id, version] = [textOf(row, 'id'), numberOf(row, 'version')]
      // Without a look: what another process committed since the row was read is not in it.
      const found = entries.get(id)
      if (found?.version === version) return found
      const document = documentOf<T>(row, what)
      note(id, document, version, textOf(row, 'document').length)
      return { document, version }
    },
    encode: (document, version, changing = document) => {
      const text = encodeDocument(changing)
      note('address' in document ? document.address : document.id, document, version, text.length)
      return text
    },
    forget,
  }
}

import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { type Document, decodeDocumentOf, encodeDocument } from '../encoding.ts'
import { corrupt, type Row, textOf } from './database.ts'

/** A document that has versions. */
type Versioned = Job | Node | Client

/** Documents as the text of their rows. */
export type DocumentCodec = {
  encode(document: Versioned): string
  /** The document of a row; throws SvcError `store-corrupt` when it cannot be read. Callers share it: nobody changes a document in place. */
  decode<T extends Versioned>(row: Row, what: string): T
}

// About a thousand jobs.
const mostCharacters = 8_388_608

/**
 * Keeps in memory what was encoded or decoded last. A row is compared with the text that its document was made of, so nothing has to be told of
 * changes, losses or other processes.
 */
export function createDocumentCodec(): DocumentCodec {
  const known = new Map<string, { readonly text: string; readonly document: Versioned }>()
  let characters = 0
  const forget = (id: string): void => {
    characters -= known.get(id)?.text.length ?? 0
    known.delete(id)
  }
  const note = (id: string, text: string, document: Versioned): void => {
    forget(id)
    known.set(id, { text, document })
    characters += text.length
    for (const oldest of known.keys()) {
      if (characters <= mostCharacters) break
      forget(oldest)
    }
  }
  return {
    encode: (document) => {
      const text = encodeDocument(document)
      note('address' in document ? document.address : document.id, text, document)
      return text
    },
    decode: <T extends Versioned>(row: Row, what: string): T => {
      const [id, text] = [String(row.id), textOf(row, 'document')]
      const found = known.get(id)
      if (found?.text === text) return found.document as T
      const document = documentOf<T>(row, what)
      note(id, text, document)
      return document
    },
  }
}

/** The document of a row, decoded anew; throws SvcError `store-corrupt` when it cannot be read. */
export function documentOf<T extends Document>(row: Row, what: string): T {
  try {
    return decodeDocumentOf<T>(row.id, textOf(row, 'document'))
  } catch (error) {
    throw corrupt(`a ${what} ${String(row.id)}`, error)
  }
}

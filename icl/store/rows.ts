/*
 * What store adapters share: readers for a row's columns, which throw `store-corrupt` for a value that this program did not write,
 * and the bounds of list positions and key prefixes.
 */
import { z } from 'zod'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'
import { type Document, decodeDocumentOf } from './encoding.ts'
import {
  type HeldKey,
  type Position,
  recordOfDocument,
  type StoreRecord,
  type Versioned,
} from './store.ts'

/** A row as the database returns it, not checked yet. One with a document has its id in `id`. */
export type Row = Readonly<Record<string, unknown>>

/** Returns the error for a record that this store did not write. */
const corrupt = (what: string, cause?: unknown): SvcError =>
  new SvcError('store-corrupt', `The database holds ${what} that cannot be read`, {
    hint: 'Another program wrote to it, or it is damaged. Stop the ICL, keep a copy of its database, and restore the last backup.',
    cause,
  })

/** Returns a column's value as a schema parses it; throws SvcError `store-corrupt`, as all readers below do. */
export function parsed<T>(schema: z.ZodType<T>, row: Row, column: string): T {
  const result = schema.safeParse(row[column])
  if (result.success) return result.data
  throw corrupt(`a ${column}${typeof row.id === 'string' ? ` of ${row.id}` : ''}`, result.error)
}

const Text = z.string()
const Numeric = z.number()
const Bytes = z.instanceof(Uint8Array)
/** The room that a stored blob counts in. */
export const RoomName = z.enum(['wallet', 'node', 'icl', 'kubo-wallet', 'kubo-node', 'kubo-icl'])

/** Returns a text column. */
export const textOf = (row: Row, column: string): string => {
  const value = row[column]
  return typeof value === 'string' ? value : parsed(Text, row, column)
}

/** Returns a number column. */
export const numberOf = (row: Row, column: string): number => parsed(Numeric, row, column)

/** Returns a copy of a column of bytes. */
export const bytesOf = (row: Row, column: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(parsed(Bytes, row, column))

/** Decodes the document of a row. */
export function documentOf<T extends Document>(row: Row, what: string): T {
  const text = textOf(row, 'document')
  try {
    return decodeDocumentOf<T>(row.id, text)
  } catch {
    // The cause is left out, because its message may quote the document.
    throw corrupt(`a ${what} ${String(row.id)}`)
  }
}

/** Decodes the document of a row that has versions. */
export const versionedOf = <T extends Job | Node | Client>(
  row: Row,
  what: string,
): Versioned<T> => ({
  document: documentOf<T>(row, what),
  version: numberOf(row, 'version'),
})

/** Returns a row of a key, which has the key in `id`, as a held key. */
export const heldKeyOf = (row: Row): HeldKey => ({
  key: textOf(row, 'id'),
  value: textOf(row, 'value'),
  expiresAt: numberOf(row, 'expiresAt'),
})

/** Returns a row as the record of a backup. */
export function recordOf(kind: StoreRecord['kind'], row: Row): StoreRecord {
  if (kind === 'event') return { kind, event: documentOf<ReputationEvent>(row, kind) }
  if (kind === 'key') return { kind, ...heldKeyOf(row) }
  if (kind !== 'blob') return recordOfDocument(kind, versionedOf(row, kind))
  return {
    kind,
    cid: textOf(row, 'id'),
    bytes: bytesOf(row, 'bytes'),
    uploader: parsed(RoomName, row, 'uploader'),
    size: numberOf(row, 'size'),
    until: numberOf(row, 'until'),
    usedUntil: numberOf(row, 'usedUntil'),
    isAnswered: numberOf(row, 'answered') === 1,
  }
}

/** Returns the position in its list of a row that has its time in `column`. */
export const positionOf = (row: Row, column: string): Position => ({
  at: numberOf(row, column),
  id: textOf(row, 'id'),
})

/** A position after every position in a list. */
export const endOfList: Position = { at: Number.POSITIVE_INFINITY, id: '' }

/** Returns a text that is greater than every text with the prefix. */
export const behindPrefix = (prefix: string): string => `${prefix}\u{10ffff}`

/*
 * What store adapters share: readers for a row's columns, which throw `store-corrupt` for a value that this program did not write,
 * and the bounds of list positions and key prefixes.
 */
import type { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import { type Document, decodeDocumentOf } from './encoding.ts'
import type { HeldKey, Position } from './store.ts'

/** A row as the database returns it, not checked yet. */
export type Row = Readonly<Record<string, unknown>>

/** Returns the error for a record that this store did not write. */
export const corrupt = (what: string, cause?: unknown): SvcError =>
  new SvcError('store-corrupt', `The database holds ${what} that cannot be read`, {
    hint: 'Stop the ICL, keep a copy of its files, and restore the last backup.',
    cause,
  })

/** Returns a text column; throws SvcError `store-corrupt` for another type, as all readers below do. */
export function textOf(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw corrupt(`a ${column}`)
  return value
}

/** Returns a number column. */
export function numberOf(row: Row, column: string): number {
  const value = row[column]
  if (typeof value !== 'number') throw corrupt(`a ${column}`)
  return value
}

/** Returns a number column, undefined for NULL. */
export const optionalNumberOf = (row: Row, column: string): number | undefined =>
  row[column] === null ? undefined : numberOf(row, column)

/** Returns a copy of a column of bytes. */
export function bytesOf(row: Row, column: string): Uint8Array<ArrayBuffer> {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw corrupt(`a ${column}`)
  return new Uint8Array(value)
}

/** Returns a column's value as a schema parses it. */
export function parsed<T>(schema: z.ZodType<T>, row: Row, column: string): T {
  const result = schema.safeParse(row[column])
  if (!result.success) throw corrupt(`a ${column}`, result.error)
  return result.data
}

/** Decodes the document of a row. */
export function documentOf<T extends Document>(row: Row, what: string): T {
  try {
    return decodeDocumentOf<T>(row.id, textOf(row, 'document'))
  } catch (error) {
    throw corrupt(`a ${what} ${String(row.id)}`, error)
  }
}

/** Returns a row of the table `keys` as a held key. */
export const heldKeyOf = (row: Row): HeldKey => ({
  key: textOf(row, 'key'),
  value: textOf(row, 'value'),
  expiresAt: numberOf(row, 'expires_at'),
})

/** Returns the position in its list of a row that has its time in the column `at`. */
export const positionOf = (row: Row): Position => ({
  at: numberOf(row, 'at'),
  id: textOf(row, 'id'),
})

/** A position after every position in a list. */
export const endOfList: Position = { at: Number.POSITIVE_INFINITY, id: '' }

/** Returns a text that is greater than every text with the prefix. */
export const behindPrefix = (prefix: string): string => `${prefix}\u{10ffff}`

/*
 * What adapters over tables share: a row's columns, read so that one that this program did not write is `store-corrupt`, and how
 * text and places in lists are compared.
 */
import type { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import { type Document, decodeDocumentOf } from './encoding.ts'
import type { HeldKey, Position } from './store.ts'

/** A row as a database gives it. */
export type Row = Readonly<Record<string, unknown>>

/** Says that a record in the database is not one that this store wrote. */
export const corrupt = (what: string, cause?: unknown): SvcError =>
  new SvcError('store-corrupt', `The database holds ${what} that cannot be read`, {
    hint: 'Stop the ICL, keep a copy of its files, and restore the last backup.',
    cause,
  })

/** A row's text. */
export function textOf(row: Row, column: string): string {
  const value = row[column]
  if (typeof value !== 'string') throw corrupt(`a ${column}`)
  return value
}

/** A row's number. */
export function numberOf(row: Row, column: string): number {
  const value = row[column]
  if (typeof value !== 'number') throw corrupt(`a ${column}`)
  return value
}

/** A row's number, undefined for NULL. */
export const optionalNumberOf = (row: Row, column: string): number | undefined =>
  row[column] === null ? undefined : numberOf(row, column)

/** A row's bytes. */
export function bytesOf(row: Row, column: string): Uint8Array<ArrayBuffer> {
  const value = row[column]
  if (!(value instanceof Uint8Array)) throw corrupt(`a ${column}`)
  return new Uint8Array(value)
}

/** A column that has to fit a schema. */
export function parsed<T>(schema: z.ZodType<T>, row: Row, column: string): T {
  const result = schema.safeParse(row[column])
  if (!result.success) throw corrupt(`a ${column}`, result.error)
  return result.data
}

/** The document of a row, decoded anew. */
export function documentOf<T extends Document>(row: Row, what: string): T {
  try {
    return decodeDocumentOf<T>(row.id, textOf(row, 'document'))
  } catch (error) {
    throw corrupt(`a ${what} ${String(row.id)}`, error)
  }
}

/** A row of the table of keys. */
export const heldKeyOf = (row: Row): HeldKey => ({
  key: textOf(row, 'key'),
  value: textOf(row, 'value'),
  expiresAt: numberOf(row, 'expires_at'),
})

/** The place in a list of a row with its time as `at`. */
export const positionOf = (row: Row): Position => ({
  at: numberOf(row, 'at'),
  id: textOf(row, 'id'),
})

/** Behind every place in a list. */
export const endOfList: Position = { at: Number.POSITIVE_INFINITY, id: '' }

/** The first text behind every one that has a prefix. */
export const behindPrefix = (prefix: string): string => `${prefix}\u{10ffff}`

import { z } from 'zod'
import { fromBase64Url, toBase64Url, utf8 } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Position } from '../store/store.ts'

const Encoded = z.tuple([z.int().min(0), z.string().max(160)])

/** A position in a list as it travels: opaque to callers. */
export const cursorOf = ({ at, id }: Position): string =>
  toBase64Url(utf8(JSON.stringify([at, id])))

/** The position that a cursor means; throws `invalid-request` for one that no list has given out. */
export function positionOf(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined
  try {
    const [at, id] = Encoded.parse(JSON.parse(new TextDecoder().decode(fromBase64Url(cursor))))
    return { at, id }
  } catch {
    throw new ProblemError('invalid-request', 'query.cursor: is not a next_cursor of this list')
  }
}

/** What `found` has beyond a page says that there is another one, after the last of this. */
export function pageOf<T>(found: readonly T[], size: number, cursorAfter: (last: T) => string) {
  const page = found.slice(0, size)
  const last = page.at(-1)
  return {
    page,
    next_cursor: last !== undefined && found.length > size ? cursorAfter(last) : null,
  }
}

/** A list by name, after the one that a cursor means. */
export const nameIn = (cursor: string | undefined): string =>
  cursor === undefined ? '' : new TextDecoder().decode(fromBase64Url(cursor))

/** The cursor of a list by name. */
export const cursorOfName = (name: string): string => toBase64Url(utf8(name))

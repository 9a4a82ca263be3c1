import { z } from 'zod'
import type { Address } from '../../lib/codecs.ts'
import { fromBase64Url, toBase64Url, utf8 } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Position } from '../store/store.ts'

const Encoded = z.tuple([z.int().min(0), z.string().max(160)])

/** Encodes a position in a list as a cursor, opaque to callers. */
export const cursorOf = ({ at, id }: Position): string =>
  toBase64Url(utf8(JSON.stringify([at, id])))

/** Decodes a cursor. Throws `invalid-query` for one that no list has given out. */
export function positionOf(cursor: string | undefined): Position | undefined {
  if (cursor === undefined) return undefined
  try {
    const [at, id] = Encoded.parse(JSON.parse(new TextDecoder().decode(fromBase64Url(cursor))))
    return { at, id }
  } catch {
    throw new ProblemError('invalid-query', 'query.cursor: is not a next_cursor of this list')
  }
}

/** Cuts a page off `found`. When `found` holds more than a page, returns the cursor of the next one. */
export function pageOf<T>(found: readonly T[], size: number, cursorAfter: (last: T) => string) {
  const page = found.slice(0, size)
  const last = page.at(-1)
  return {
    page,
    next_cursor: last !== undefined && found.length > size ? cursorAfter(last) : null,
  }
}

/** Cuts the page after a cursor off nodes, by address. */
export function pageByAddress<T extends { readonly node: { readonly address: Address } }>(
  found: readonly T[],
  size: number,
  cursor: string | undefined,
) {
  const after = cursor === undefined ? '' : new TextDecoder().decode(fromBase64Url(cursor))
  const rest = found.filter(({ node }) => node.address > after)
  const sorted = rest.toSorted((a, b) => (a.node.address < b.node.address ? -1 : 1))
  return pageOf(sorted, size, ({ node }) => toBase64Url(utf8(node.address)))
}

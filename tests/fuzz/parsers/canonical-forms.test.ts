import canonicalize from 'canonicalize'
import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { z } from 'zod'
import { cursorOf, positionOf } from '../../../icl/operations/page-position.ts'
import { canonicalJson } from '../../../lib/canonical-json.ts'
import { cidOf } from '../../../lib/cid.ts'
import {
  Address,
  Base64Url,
  Cid,
  JobId,
  ModelId,
  Uint256,
  WalletSignature,
} from '../../../lib/codecs.ts'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { expectTyped, forAll, hostileJson, itHolds } from './runs.ts'

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes)

/** Any JSON that two programs read alike. */
const json = fc.jsonValue({ maxDepth: 4, noUnicodeString: false })

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, shuffled(inner)]),
  )
}

describe('canonical JSON', () => {
  itHolds('says the same as what it was made of, and is its own canonical form', () =>
    forAll(300, json, (value) => {
      const once = text(canonicalJson(value))
      expect(text(canonicalJson(JSON.parse(once)))).toBe(once)
      expect(JSON.parse(once)).toEqual(JSON.parse(JSON.stringify(value)))
    }),
  )

  itHolds('is the one of the library, for values that are not plain JSON too', () => {
    const circular: unknown[] = []
    circular.push({ circular }, circular)
    const odd = fc.anything({ withBigInt: true, withDate: true, withNullPrototype: true })
    const special = fc.constantFrom(
      ...['\ud800', '\\ud800', -0, NaN, circular, { '\udc00': 1 }, { b: 1, 10: 2, 9: 3 }],
      { a: undefined, toJSON: () => 'other' },
      Object.assign([1], { toJSON: () => 2 }),
    )
    const outcome = (make: () => unknown) => {
      try {
        return make()
      } catch (error) {
        return String(error)
      }
    }
    return forAll(2_000, fc.oneof(odd, hostileJson, special, fc.array(special)), (value) => {
      const byLibrary = () =>
        canonicalize(value) ?? 'TypeError: Only JSON values have a canonical form'
      expect(outcome(() => text(canonicalJson(value)))).toEqual(outcome(byLibrary))
    })
  })

  itHolds('does not depend on the order of keys', () =>
    forAll(300, json, (value) => {
      expect(text(canonicalJson(shuffled(value)))).toBe(text(canonicalJson(value)))
    }),
  )
})

describe('identifiers', () => {
  itHolds('are refused, never failed on, whatever they are', async () => {
    const schemas = [Address, JobId, Cid, ModelId, Uint256, WalletSignature, Base64Url(32)]
    await forAll(
      300,
      fc.oneof(hostileJson, fc.string({ unit: 'binary', maxLength: 200 })),
      (value) => {
        for (const schema of schemas) expect(typeof schema.safeParse(value).success).toBe('boolean')
      },
    )
  })

  itHolds('have one spelling: bytes in base64url', async () => {
    const schema = Base64Url(64)
    const letters = fc.string({ unit: fc.constantFrom(...'ABQgwz019-_E='), maxLength: 12 })
    await forAll(600, letters, (spelling) => {
      if (!schema.safeParse(spelling).success) return
      expect(toBase64Url(fromBase64Url(spelling))).toBe(spelling)
    })
    await forAll(200, fc.uint8Array({ maxLength: 64 }), (bytes) => {
      expect(fromBase64Url(schema.parse(toBase64Url(bytes)))).toEqual(new Uint8Array(bytes))
    })
  })

  itHolds('have one spelling: numbers of 256 bits', () =>
    forAll(200, fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (value) => {
      expect(z.decode(Uint256, z.encode(Uint256, value))).toBe(value)
      expect(z.decode(Uint256, `0x${value.toString(16)}`)).toBe(value)
    }),
  )

  itHolds('of content are the same kind for any content', () =>
    forAll(100, fc.uint8Array({ maxLength: 100 }), async (bytes) => {
      expect(Cid.safeParse(await cidOf(bytes)).success).toBe(true)
    }),
  )
})

describe('cursors', () => {
  itHolds('lead back to where they were made', () =>
    forAll(200, fc.nat(), fc.string({ maxLength: 100 }), (at, id) => {
      expect(positionOf(cursorOf({ at, id }))).toEqual({ at, id })
    }),
  )

  itHolds('of any text, and of any JSON, are refused with a problem', async () => {
    const written = hostileJson.map((value) =>
      toBase64Url(new TextEncoder().encode(JSON.stringify(value))),
    )
    await forAll(400, fc.oneof(fc.string({ unit: 'binary' }), written), (cursor) => {
      try {
        positionOf(cursor)
      } catch (error) {
        expectTyped(error)
      }
    })
  })
})

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
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
import { expectTyped, hostileJson, patience, runs } from './runs.ts'

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
  it(
    'says the same as what it was made of, and is its own canonical form',
    () => {
      fc.assert(
        fc.property(json, (value) => {
          const once = text(canonicalJson(value))
          expect(text(canonicalJson(JSON.parse(once)))).toBe(once)
          expect(JSON.parse(once)).toEqual(JSON.parse(JSON.stringify(value)))
        }),
        runs(300),
      )
    },
    patience,
  )

  it(
    'does not depend on the order of keys',
    () => {
      fc.assert(
        fc.property(json, (value) => {
          expect(text(canonicalJson(shuffled(value)))).toBe(text(canonicalJson(value)))
        }),
        runs(300),
      )
    },
    patience,
  )
})

describe('identifiers', () => {
  it(
    'are refused, never failed on, whatever they are',
    () => {
      const schemas = [Address, JobId, Cid, ModelId, Uint256, WalletSignature, Base64Url(32)]
      fc.assert(
        fc.property(
          fc.oneof(hostileJson, fc.string({ unit: 'binary', maxLength: 200 })),
          (value) => {
            for (const schema of schemas)
              expect(typeof schema.safeParse(value).success).toBe('boolean')
          },
        ),
        runs(300),
      )
    },
    patience,
  )

  it(
    'have one spelling: bytes in base64url',
    () => {
      const schema = Base64Url(64)
      const letters = fc.string({ unit: fc.constantFrom(...'ABQgwz019-_E='), maxLength: 12 })
      fc.assert(
        fc.property(letters, (spelling) => {
          if (!schema.safeParse(spelling).success) return
          expect(toBase64Url(fromBase64Url(spelling))).toBe(spelling)
        }),
        runs(600),
      )
      fc.assert(
        fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
          expect(fromBase64Url(schema.parse(toBase64Url(bytes)))).toEqual(new Uint8Array(bytes))
        }),
        runs(200),
      )
    },
    patience,
  )

  it(
    'have one spelling: numbers of 256 bits',
    () => {
      fc.assert(
        fc.property(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), (value) => {
          expect(z.decode(Uint256, z.encode(Uint256, value))).toBe(value)
          expect(z.decode(Uint256, `0x${value.toString(16)}`)).toBe(value)
        }),
        runs(200),
      )
    },
    patience,
  )

  it(
    'of content are the same kind for any content',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 100 }), async (bytes) => {
          expect(Cid.safeParse(await cidOf(bytes)).success).toBe(true)
        }),
        runs(100),
      )
    },
    patience,
  )
})

describe('cursors', () => {
  it(
    'lead back to where they were made',
    () => {
      fc.assert(
        fc.property(fc.nat(), fc.string({ maxLength: 100 }), (at, id) => {
          expect(positionOf(cursorOf({ at, id }))).toEqual({ at, id })
        }),
        runs(200),
      )
    },
    patience,
  )

  it(
    'of any text, and of any JSON, are refused with a problem',
    () => {
      const written = hostileJson.map((value) =>
        toBase64Url(new TextEncoder().encode(JSON.stringify(value))),
      )
      fc.assert(
        fc.property(fc.oneof(fc.string({ unit: 'binary' }), written), (cursor) => {
          try {
            positionOf(cursor)
          } catch (error) {
            expectTyped(error)
          }
        }),
        runs(400),
      )
    },
    patience,
  )
})

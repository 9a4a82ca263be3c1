import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { ComparatorId } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import { Evidence } from '../../../lib/schemas/evidence.ts'
import { forAll, hostileJson, itHolds } from './runs.ts'

const bytes = (min: number, max: number) => fc.uint8Array({ minLength: min, maxLength: max })
const lengths = [0, 1, 31, 32, 64, 200, 1_000, 2_048]
const sketch = fc
  .constantFrom(...lengths)
  .chain((length) => bytes(length, length))
  .map(toBase64Url)

/** Anything that the schema lets through: what a node may post. */
const posted = fc
  .record(
    {
      comparator: fc.constantFrom(...ComparatorId.options),
      digest: bytes(32, 32).map(toBase64Url),
      sketch,
      tokens: fc.integer({ min: 0, max: 1_048_576 }),
      units: fc.integer({ min: 0, max: 1_048_576 }),
    },
    { requiredKeys: ['comparator', 'digest', 'tokens', 'units'] },
  )
  .map((value) => Evidence.parse(value))

const key = new Uint8Array(32).fill(3)
const made = fc
  .tuple(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.constantFrom('exact', 'similar/2'))
  .map(([text, id]) => comparators[id as 'exact'].evidenceOf({ text, prompt: '', key }))

describe('evidence', () => {
  itHolds('of any form compares without an error, and the same both ways round', () =>
    forAll(150, fc.oneof(posted, made), fc.oneof(posted, made), async (one, other) => {
      const [a, b] = [await one, await other]
      for (const comparator of Object.values(comparators)) {
        expect(comparator.compare(a, b)).toBe(comparator.compare(b, a))
        expect(comparator.explain(a, b).outcome).toBe(comparator.compare(a, b))
        expect(typeof comparator.reproduces(a, b)).toBe('boolean')
        comparator.malformation(a)
      }
    }),
  )

  itHolds('of the same text matches, whatever the text', () =>
    forAll(60, fc.string({ unit: 'grapheme', maxLength: 300 }), async (text) => {
      for (const id of ['exact', 'similar/2'] as const) {
        const make = () => comparators[id].evidenceOf({ text, prompt: '', key })
        const [a, b] = [await make(), await make()]
        expect(b).toEqual(a)
        expect(comparators[id].malformation(a)).toBeUndefined()
        expect(comparators[id].reproduces(a, b)).toBe(true)
      }
    }),
  )

  itHolds('of any JSON is refused by its schema, never failed on', () =>
    forAll(300, hostileJson, (value) => {
      expect(Evidence.safeParse(value).success).toBe(false)
    }),
  )
})

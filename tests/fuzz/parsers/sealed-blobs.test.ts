import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { joinKey, seal, splitKey, unseal } from '../../../lib/sealing.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemRandom } from '../../../lib/system.ts'
import { anAddress } from '../../branded.ts'
import { patience, runs } from './runs.ts'

const key = new Uint8Array(32).fill(5)
const purpose = { kind: 'prompt', client: anAddress(`0x${'1'.repeat(40)}`) } as const

describe('sealed blobs', () => {
  it(
    'give back any text',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme' }), async (text) => {
          expect(await unseal(await seal(text, key, purpose, systemRandom), key, purpose)).toBe(
            text,
          )
        }),
        runs(150),
      )
    },
    patience,
  )

  it(
    'of any bytes are refused as unreadable',
    async () => {
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 80 }),
        fc.uint8Array({ minLength: 28, maxLength: 80 }).map((rest) => Uint8Array.of(1, ...rest)),
      )
      await fc.assert(
        fc.asyncProperty(bytes, async (blob) => {
          const error = await unseal(blob, key, purpose).catch((refused: unknown) => refused)
          expect(error).toBeInstanceOf(SvcError)
        }),
        runs(300),
      )
    },
    patience,
  )

  it(
    'are refused with any bit changed, or cut anywhere',
    async () => {
      const sealed = await seal('a prompt', key, purpose, systemRandom)
      await fc.assert(
        fc.asyncProperty(
          fc.nat(sealed.length - 1),
          fc.nat(7),
          fc.boolean(),
          async (at, bit, cut) => {
            const changed = cut ? sealed.slice(0, at) : sealed.with(at, sealed[at]! ^ (1 << bit))
            const error = await unseal(changed, key, purpose).catch((refused: unknown) => refused)
            expect(error).toBeInstanceOf(SvcError)
          },
        ),
        runs(200),
      )
    },
    patience,
  )

  it(
    'have keys that two halves give back',
    () => {
      fc.assert(
        fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
          expect(joinKey(splitKey(bytes))).toEqual(new Uint8Array(bytes))
        }),
        runs(200),
      )
    },
    patience,
  )
})

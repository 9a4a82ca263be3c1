import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { utf8 } from '../../../lib/digest.ts'
import { joinKey, seal, splitKey, textOf, unseal } from '../../../lib/sealing.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemRandom } from '../../../lib/system.ts'
import { forAll, itHolds } from './runs.ts'

const key = new Uint8Array(32).fill(5)
const label = 'svc-test:1'

describe('sealed blobs', () => {
  itHolds('give back any text', () =>
    forAll(150, fc.string({ unit: 'grapheme' }), async (text) => {
      const blob = await seal(utf8(text), key, label, systemRandom)
      expect(textOf(await unseal(blob, key, label))).toBe(text)
    }),
  )

  itHolds('of any bytes are refused as unreadable', async () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 80 }),
      fc.uint8Array({ minLength: 28, maxLength: 80 }).map((rest) => Uint8Array.of(1, ...rest)),
    )
    await forAll(300, bytes, async (blob) => {
      const error = await unseal(blob, key, label).catch((refused: unknown) => refused)
      expect(error).toBeInstanceOf(SvcError)
    })
  })

  itHolds('are refused with any bit changed, or cut anywhere', async () => {
    const sealed = await seal(utf8('a prompt'), key, label, systemRandom)
    await forAll(200, fc.nat(sealed.length - 1), fc.nat(7), fc.boolean(), async (at, bit, cut) => {
      const changed = cut ? sealed.slice(0, at) : sealed.with(at, sealed[at]! ^ (1 << bit))
      const error = await unseal(changed, key, label).catch((refused: unknown) => refused)
      expect(error).toBeInstanceOf(SvcError)
    })
  })

  itHolds('have keys that two halves give back', () =>
    forAll(200, fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      expect(joinKey(splitKey(bytes))).toEqual(new Uint8Array(bytes))
    }),
  )
})

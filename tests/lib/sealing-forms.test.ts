import { describe, expect, it } from 'vitest'
import { utf8 } from '../../lib/digest.ts'
import { joinKey, newSealingKey, seal, splitKey, textOf, unseal } from '../../lib/sealing.ts'
import { systemRandom } from '../../lib/system.ts'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const fixed = { bytes: (length: number) => new Uint8Array(length).fill(5) }

const failureOf = (blob: Uint8Array, label: string, with_ = key) =>
  unseal(blob, with_, label).then(
    () => undefined,
    (error: { code: string; message: string; hint: string }) => error,
  )

describe('a sealed blob', () => {
  it('is bound to its label', async () => {
    const blob = await seal(utf8('answer'), key, 'one', systemRandom)
    expect(textOf(await unseal(blob, key, 'one'))).toBe('answer')
    for (const other of ['two', 'one ', '']) {
      expect((await failureOf(blob, other))?.code).toBe('blob-unreadable')
    }
  })

  it('is a version byte, the IV, and the text with a tag of 16 bytes', async () => {
    const blob = await seal(utf8('text'), key, `svc-prompt-v1:0x${'1'.repeat(40)}`, fixed)
    expect(blob).toHaveLength(1 + 12 + 4 + 16)
    expect([...blob.slice(0, 13)]).toEqual([1, ...Array.from({ length: 12 }, () => 5)])
    // Fixed: what others have sealed must open for ever.
    expect(Buffer.from(blob.slice(13)).toString('hex')).toBe(
      '3853a0057ffcd3bb2c28e8c68a15aa062b68b31a',
    )
  })

  it('of another version, or too short to be one, is named as such', async () => {
    const label = 'svc-test:1'
    const blob = await seal(utf8(''), key, label, systemRandom)
    expect(await unseal(blob, key, label)).toHaveLength(0)
    const none = 'The blob cannot be decrypted: it is not a sealed blob of version 1'
    expect((await failureOf(blob.slice(0, -1), label))?.message).toBe(none)
    expect((await failureOf(Uint8Array.of(2, ...blob.slice(1)), label))?.message).toBe(none)
    const another = newSealingKey(systemRandom)
    const wrong = await failureOf(blob, label, another)
    expect(wrong?.message).toBe(
      'The blob cannot be decrypted: the key does not open it, or it was changed',
    )
    expect(wrong?.hint).toContain('seal and upload it again')
  })

  it('of bytes that are not UTF-8 gives no text', () => {
    expect(() => textOf(Uint8Array.of(0xff, 0xfe))).toThrow(
      'The blob cannot be decrypted: it does not hold UTF-8 text',
    )
  })
})

describe('the halves of a key', () => {
  it('reach from nothing to all bits', () => {
    for (const high of [0n, 1n, (1n << 127n) + 5n, (1n << 128n) - 1n]) {
      for (const low of [0n, 1n, (1n << 128n) - 1n]) {
        expect(splitKey(joinKey({ high, low }))).toEqual({ high, low })
      }
    }
    expect([...joinKey({ high: 1n, low: 2n })]).toEqual(
      Array.from({ length: 32 }, (_, index) => (index === 15 ? 1 : index === 31 ? 2 : 0)),
    )
  })

  it('are refused below and above a uint128, whichever it is, and keys that are too short or too long', () => {
    for (const bad of [-1n, 1n << 128n]) {
      expect(() => joinKey({ high: bad, low: 0n })).toThrow('A key half is a uint128')
      expect(() => joinKey({ high: 0n, low: bad })).toThrow('A key half is a uint128')
    }
    for (const length of [0, 31, 33]) {
      expect(() => splitKey(new Uint8Array(length))).toThrow(`has 32 bytes, not ${length}`)
    }
  })
})

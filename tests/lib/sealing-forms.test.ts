import { describe, expect, it } from 'vitest'
import {
  type BlobPurpose,
  joinKey,
  newSealingKey,
  seal,
  splitKey,
  unseal,
} from '../../lib/sealing.ts'
import { systemRandom } from '../../lib/system.ts'
import { aJobId, anAddress } from '../branded.ts'

const key = Uint8Array.from({ length: 32 }, (_, index) => index)
const output = (digit: string): BlobPurpose => ({
  kind: 'output',
  jobId: aJobId(`0x${digit.repeat(64)}`),
})
const prompt = (digit: string): BlobPurpose => ({
  kind: 'prompt',
  client: anAddress(`0x${digit.repeat(40)}`),
})
const fixed = { bytes: (length: number) => new Uint8Array(length).fill(5) }

const failureOf = (blob: Uint8Array, purpose: BlobPurpose, with_ = key) =>
  unseal(blob, with_, purpose).then(
    () => undefined,
    (error: { code: string; message: string; hint: string }) => error,
  )

describe('a sealed blob', () => {
  it('is bound to its own job or client, and to nobody else’s', async () => {
    const sealedOutput = await seal('answer', key, output('1'), systemRandom)
    const sealedPrompt = await seal('question', key, prompt('1'), systemRandom)
    expect(await unseal(sealedOutput, key, output('1'))).toBe('answer')
    expect(await unseal(sealedPrompt, key, prompt('1'))).toBe('question')
    for (const other of [output('2'), prompt('1')]) {
      expect((await failureOf(sealedOutput, other))?.code).toBe('blob-unreadable')
    }
    for (const other of [prompt('2'), output('1')]) {
      expect((await failureOf(sealedPrompt, other))?.code).toBe('blob-unreadable')
    }
  })

  it('is a version byte, the IV, and the text with a tag of 16 bytes', async () => {
    const blob = await seal('text', key, prompt('1'), fixed)
    expect(blob).toHaveLength(1 + 12 + 4 + 16)
    expect([...blob.slice(0, 13)]).toEqual([1, ...Array.from({ length: 12 }, () => 5)])
    // Fixed: what others have sealed must open for ever.
    expect(Buffer.from(blob.slice(13)).toString('hex')).toBe(
      '3853a0057ffcd3bb2c28e8c68a15aa062b68b31a',
    )
    const answer = await seal('text', key, output('1'), fixed)
    expect(Buffer.from(answer.slice(13)).toString('hex')).toBe(
      '3853a005713b8c8c08b4f37d1ef385ae6fcaa474',
    )
  })

  it('of another version, or too short to be one, is named as such', async () => {
    const blob = await seal('', key, prompt('1'), systemRandom)
    expect(await unseal(blob, key, prompt('1'))).toBe('')
    const none = 'The blob cannot be decrypted: it is not a sealed blob of version 1'
    expect((await failureOf(blob.slice(0, -1), prompt('1')))?.message).toBe(none)
    expect((await failureOf(Uint8Array.of(2, ...blob.slice(1)), prompt('1')))?.message).toBe(none)
    const another = newSealingKey(systemRandom)
    const wrong = await failureOf(blob, prompt('1'), another)
    expect(wrong?.message).toBe(
      'The blob cannot be decrypted: the key does not open it, or it was changed',
    )
    expect(wrong?.hint).toContain('seal and upload it again')
  })

  it('of bytes that are no text is refused rather than shown with marks in it', async () => {
    const iv = new Uint8Array(12)
    const additionalData = new TextEncoder().encode(`svc-prompt-v1:0x${'1'.repeat(40)}`)
    const imported = await crypto.subtle.importKey('raw', key, 'AES-GCM', false, ['encrypt'])
    const bytes = await crypto.subtle.encrypt(
      { name: 'AES-GCM', iv, additionalData },
      imported,
      Uint8Array.of(0xff, 0xfe),
    )
    const blob = Uint8Array.of(1, ...iv, ...new Uint8Array(bytes))
    expect((await failureOf(blob, prompt('1')))?.message).toBe(
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

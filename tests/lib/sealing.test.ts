import { CID } from 'multiformats/cid'
import { describe, expect, it } from 'vitest'
import { cidOf } from '../../lib/cid.ts'
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

const client = `0x${'1'.repeat(40)}` as const
const purpose: BlobPurpose = { kind: 'prompt', client: anAddress(client) }

describe('a sealed blob', () => {
  it.each(['', 'short', 'naïve café 🗼\n', '\ufeffafter a mark', 'x'.repeat(100_000)])(
    'opens to the same text',
    async (text) => {
      const key = newSealingKey(systemRandom)
      expect(await unseal(await seal(text, key, purpose, systemRandom), key, purpose)).toBe(text)
    },
  )

  it('never looks the same twice', async () => {
    const key = newSealingKey(systemRandom)
    const [a, b] = await Promise.all([1, 2].map(() => seal('same', key, purpose, systemRandom)))
    expect(a).not.toEqual(b)
  })

  it('does not open with any one bit changed', async () => {
    const key = newSealingKey(systemRandom)
    const blob = await seal('text', key, purpose, systemRandom)
    for (let bit = 0; bit < blob.length * 8; bit++) {
      const changed = blob.slice()
      changed[bit >> 3]! ^= 1 << (bit & 7)
      await expect(unseal(changed, key, purpose)).rejects.toMatchObject({ code: 'blob-unreadable' })
    }
  })

  it('does not open for another purpose, with another key, or cut short', async () => {
    const key = newSealingKey(systemRandom)
    const blob = await seal('text', key, purpose, systemRandom)
    const refused = { code: 'blob-unreadable' }
    const others: BlobPurpose[] = [
      { kind: 'prompt', client: anAddress(`0x${'2'.repeat(40)}`) },
      { kind: 'output', jobId: aJobId(`0x${'1'.repeat(64)}`) },
    ]
    for (const other of others)
      await expect(unseal(blob, key, other)).rejects.toMatchObject(refused)
    const wrong = newSealingKey(systemRandom)
    await expect(unseal(blob, wrong, purpose)).rejects.toMatchObject(refused)
    await expect(unseal(blob.slice(0, 20), key, purpose)).rejects.toMatchObject(refused)
  })
})

describe('key halves', () => {
  it('are big-endian, high first, and join to the same key', () => {
    const key = Uint8Array.from({ length: 32 }, (_, index) => index)
    const halves = splitKey(key)
    expect(halves).toEqual({
      high: 0x000102030405060708090a0b0c0d0e0fn,
      low: 0x101112131415161718191a1b1c1d1e1fn,
    })
    expect(joinKey(halves)).toEqual(key)
  })

  it('are refused when they are not of their size', () => {
    expect(() => splitKey(new Uint8Array(31))).toThrow('32 bytes')
    expect(() => joinKey({ high: 1n << 128n, low: 0n })).toThrow('uint128')
  })
})

it('a CID is the one IPFS gives a raw block', async () => {
  // `ipfs add --raw-leaves --cid-version 1` of "hello world".
  const cid = await cidOf(new TextEncoder().encode('hello world'))
  expect(cid).toBe('bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e')
  expect(CID.parse(cid).version).toBe(1)
})

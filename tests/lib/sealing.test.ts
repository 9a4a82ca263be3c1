import { CID } from 'multiformats/cid'
import { describe, expect, it } from 'vitest'
import { cidOf } from '../../lib/cid.ts'
import { type BlobPurpose, newSealingKey, seal, unseal } from '../../lib/sealing.ts'
import { systemRandom } from '../../lib/system.ts'
import { anAddress } from '../branded.ts'

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
})

it('a CID is the one IPFS gives a raw block', async () => {
  // `ipfs add --raw-leaves --cid-version 1` of "hello world".
  const cid = await cidOf(new TextEncoder().encode('hello world'))
  expect(cid).toBe('bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e')
  expect(CID.parse(cid).version).toBe(1)
})

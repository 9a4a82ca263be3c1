import { CID } from 'multiformats/cid'
import { describe, expect, it } from 'vitest'
import { cidOf } from '../../lib/cid.ts'
import { utf8 } from '../../lib/digest.ts'
import { newSealingKey, seal, textOf, unseal } from '../../lib/sealing.ts'
import { systemRandom } from '../../lib/system.ts'

const label = 'svc-test:1'

describe('a sealed blob', () => {
  it.each(['', 'short', 'naïve café 🗼\n', '\ufeffafter a mark', 'x'.repeat(100_000)])(
    'opens to the same text',
    async (text) => {
      const key = newSealingKey(systemRandom)
      const blob = await seal(utf8(text), key, label, systemRandom)
      expect(textOf(await unseal(blob, key, label))).toBe(text)
    },
  )

  it('never looks the same twice', async () => {
    const key = newSealingKey(systemRandom)
    const [a, b] = await Promise.all([1, 2].map(() => seal(utf8('same'), key, label, systemRandom)))
    expect(a).not.toEqual(b)
  })

  it('does not open with any one bit changed', async () => {
    const key = newSealingKey(systemRandom)
    const blob = await seal(utf8('text'), key, label, systemRandom)
    for (let bit = 0; bit < blob.length * 8; bit++) {
      const changed = blob.slice()
      changed[bit >> 3]! ^= 1 << (bit & 7)
      await expect(unseal(changed, key, label)).rejects.toMatchObject({ code: 'blob-unreadable' })
    }
  })
})

it('a CID is the one IPFS gives a raw block', async () => {
  // `ipfs add --raw-leaves --cid-version 1` of "hello world".
  const cid = await cidOf(new TextEncoder().encode('hello world'))
  expect(cid).toBe('bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e')
  expect(CID.parse(cid).version).toBe(1)
})

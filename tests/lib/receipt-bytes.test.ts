import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { ComparatorId } from '../../lib/codecs.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { makeReceipt } from './make-receipt.ts'

const said =
  'The sky is blue because air scatters the short waves of sunlight, which are blue, far more than the long ones, so that blue reaches the eye from every side while red goes straight on. At dusk the light has a longer way through the air, most of the blue is lost on it, and what is left looks orange or red.'
const saidOtherwise = said.replace('far more than', 'much more than')

const kinds: readonly (readonly [ComparatorId, readonly [string, string, string]])[] = [
  ['exact', [said, said, said]],
  ['similar/2', [said, said, saidOtherwise]],
]

const refusal = { code: 'receipt-invalid' }

/** Which check refuses a receipt's text, undefined when none does. */
async function refusedBy(
  bytes: Uint8Array,
  iclKey: string,
): Promise<'json' | 'form' | 'content' | undefined> {
  let json: unknown
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch {
    return 'json'
  }
  const parsed = Receipt.safeParse(json)
  if (!parsed.success) return 'form'
  try {
    await verifyReceipt(parsed.data, { iclKeys: [iclKey] })
    return undefined
  } catch (error) {
    expect(error).toMatchObject(refusal)
    return 'content'
  }
}

for (const [comparator, answers] of kinds) {
  describe(`a receipt with evidence for ${comparator}`, () => {
    it('is refused with any one of its bytes changed', async () => {
      const { receipt, iclKey } = await makeReceipt(comparator, answers)
      const bytes = canonicalJson(z.encode(Receipt, receipt))
      expect(await refusedBy(bytes, iclKey)).toBeUndefined()
      const counts = { json: 0, form: 0, content: 0 }
      const held: string[] = []
      for (const [at, byte] of bytes.entries()) {
        // The lowest bit: a digit stays one, a letter becomes another.
        const by = await refusedBy(bytes.with(at, byte ^ 1), iclKey)
        if (by) counts[by] += 1
        else held.push(`byte ${at}: ...${new TextDecoder().decode(bytes.slice(at - 20, at + 5))}`)
      }
      process.stdout.write(
        `${comparator}: ${bytes.length} bytes, each changed: ${bytes.length - held.length} refused (${counts.json} no JSON, ${counts.form} no receipt, ${counts.content} do not hold)\n`,
      )
      expect(held).toEqual([])
      expect(counts.content).toBeGreaterThan(bytes.length / 3)
    }, 300_000)

    it('is refused with any one signature missing, empty, or in the place of another', async () => {
      const { receipt, iclKey } = await makeReceipt(comparator, answers)
      const json = z.encode(Receipt, receipt)
      const text = JSON.stringify(json)
      const signatures = [...text.matchAll(/"signature":("[^"]+")/g)].map(([, found]) => found!)
      // Three statements, three wallets, one tally.
      expect(signatures).toHaveLength(7)
      let refused = 0
      for (const [index, signature] of signatures.entries()) {
        const field = `"signature":${signature}`
        const next = signatures[(index + 1) % signatures.length]!
        const changes = [
          text.replace(`,${field}`, ''),
          text.replace(field, '"signature":""'),
          text.replace(field, `"signature":${next}`),
        ]
        for (const changed of changes) {
          expect(changed).not.toBe(text)
          if (await refusedBy(new TextEncoder().encode(changed), iclKey)) refused += 1
        }
      }
      expect(refused).toBe(3 * signatures.length)
    })

    it('is refused without one of its statements, or with one twice', async () => {
      const { receipt, iclKey } = await makeReceipt(comparator, answers)
      const iclKeys = [iclKey]
      const [first, second] = receipt.verifiers
      for (const verifiers of [[], [first!], [second!], [first!, first!], [second!, first!]]) {
        await expect(verifyReceipt({ ...receipt, verifiers }, { iclKeys })).rejects.toMatchObject(
          refusal,
        )
      }
      expect(await receiptHash({ ...receipt, verifiers: [second!, first!] })).not.toBe(
        await receiptHash(receipt),
      )
    })
  })
}

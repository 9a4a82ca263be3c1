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

/** Each byte, but of a long value (a key, a hash, a signature) only every eighth: its bytes are compared or signed together. */
function bytesToChange(bytes: Uint8Array): readonly number[] {
  const text = new TextDecoder('latin1').decode(bytes)
  const long = [...text.matchAll(/[\w-]{32,}/g)].map(({ index, 0: value }) => [index, value.length])
  const skipped = new Set(
    long.flatMap(([index = 0, length = 0]) =>
      Array.from({ length }, (_, at) => index + at).filter((at) => (at - index) % 8 !== 0),
    ),
  )
  return [...bytes.keys()].filter((at) => !skipped.has(at))
}

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
    // Of the second receipt only an eighth: but for the evidence it is made like the first.
    const step = comparator === 'exact' ? 1 : 8
    it.each([0, 1, 2, 3])(
      'is refused with any one of its bytes changed, part %i of 4',
      async (part) => {
        const { receipt, iclKey } = await makeReceipt(comparator, answers)
        const bytes = canonicalJson(z.encode(Receipt, receipt))
        expect(await refusedBy(bytes, iclKey)).toBeUndefined()
        const counts = { json: 0, form: 0, content: 0 }
        const held: string[] = []
        const changed = bytesToChange(bytes).filter(
          (_, index) => index % (4 * step) === part * step,
        )
        for (const at of changed) {
          // The lowest bit: a digit stays one, a letter becomes another.
          const by = await refusedBy(bytes.with(at, bytes[at]! ^ 1), iclKey)
          if (by) counts[by] += 1
          else held.push(`byte ${at}: ...${new TextDecoder().decode(bytes.slice(at - 20, at + 5))}`)
        }
        expect(held).toEqual([])
        expect(counts.content).toBeGreaterThan(changed.length / 10)
      },
    )

    it('is refused with any one signature missing, empty, or in the place of another', async () => {
      const { receipt, iclKey } = await makeReceipt(comparator, answers)
      const json = z.encode(Receipt, receipt)
      const text = JSON.stringify(json)
      const signatures = [...text.matchAll(/"signature":("[^"]+")/g)].map(([, found]) => found!)
      // Three answers, a delivery and two verdicts, each with the grant of its wallet, and one tally.
      expect(signatures).toHaveLength(13)
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
      const [one, two, three] = receipt.answers
      const [first, second] = receipt.verdicts
      for (const answers of [
        [one!, two!],
        [two!, three!, one!],
        [one!, two!, two!],
      ]) {
        await expect(verifyReceipt({ ...receipt, answers }, { iclKeys })).rejects.toMatchObject(
          refusal,
        )
      }
      for (const verdicts of [[], [first!], [second!], [first!, first!], [second!, first!]]) {
        await expect(verifyReceipt({ ...receipt, verdicts }, { iclKeys })).rejects.toMatchObject(
          refusal,
        )
      }
      expect(await receiptHash({ ...receipt, verdicts: [second!, first!] })).not.toBe(
        await receiptHash(receipt),
      )
    })
  })
}

import { describe, expect, it } from 'vitest'
import { agreedIn, describeAgreed, usageIn } from '../../../lib/client/agreed.ts'
import { makeReceipt, type ReceiptChanges } from '../make-receipt.ts'

const told = async (texts: readonly string[], changes: ReceiptChanges = {}) => {
  const { receipt } = await makeReceipt('exact', texts, changes)
  return describeAgreed(agreedIn(receipt))
}

describe('what is said of an agreement', () => {
  it('counts who agreed, and how the others differ', async () => {
    expect(await told(['a', 'a', 'a'])).toBe('3 of 3 agreed')
    expect(await told(['a', 'b', 'a', 'a'])).toBe('3 of 4 agreed; 1 differed (different answer)')
    expect(await told(['a', 'b', 'c', 'a', 'a'])).toBe(
      '3 of 5 agreed; 2 differed (different answer)',
    )
    const { receipt } = await makeReceipt('similar/2', ['Paris', 'Lyon', 'Paris', 'Paris'])
    expect(describeAgreed(agreedIn(receipt))).toBe('3 of 4 agreed; 1 differed (inconclusive)')
    expect(agreedIn(receipt).differed).toEqual([
      { node: receipt.list.members[1]!, how: 'inconclusive' },
    ])
  })

  it('has the length of a short list, and whether the pool had no more', async () => {
    expect(await told(['a', 'a', 'b'], { listLength: 3 })).toBe(
      '2 of 3 agreed; 1 differed (different answer); the pool had 3 nodes',
    )
    const failed = ['node-failed', 'never-delivered'] as const
    expect(await told(['a', 'a', 'a'], { failed })).toBe(
      '3 of 3 agreed; 1 gave the turn to deliver back; 1 let the turn to deliver pass, by the word of the ICL',
    )
    const two = { rule: 'any-two', terms: { list_length: 7 }, listLength: 7 } as const
    expect(await told(['a', 'a', 'a'], two)).toBe('3 of 3 agreed; the list had 7 nodes')
  })
})

describe('the tokens of an answer', () => {
  const counted = async (counts: readonly (readonly [number, number] | undefined)[]) => {
    const texts = counts.length > 3 ? ['a', 'b', 'a', 'a'] : ['a', 'a', 'a']
    const { receipt } = await makeReceipt('exact', texts)
    const answers = receipt.answers.map((answer, at) => {
      const { usage: _, ...body } = answer.body
      const [input_tokens = 0, output_tokens = 0] = counts[at] ?? []
      const usage = counts[at] && { input_tokens, output_tokens }
      return { ...answer, body: { ...body, ...(usage && { usage }) } }
    })
    return usageIn({ ...receipt, answers })
  }

  it('are those that most nodes of the agreement stated, whatever one of them says', async () => {
    const [usual, high, low] = [[37, 8] as const, [370, 80] as const, [1, 1] as const]
    const told = { input_tokens: 37, output_tokens: 8 }
    expect(await counted([usual, high, usual])).toEqual(told)
    expect(await counted([usual, [370, 8], [37, 80]])).toEqual(told)
    expect(await counted([undefined, high, usual])).toEqual(told)
    // The second is outside the agreement.
    expect(await counted([high, low, usual, usual])).toEqual(told)
    expect(await counted([undefined, undefined, high])).toBeUndefined()
    expect(await counted([undefined, usual, undefined, undefined])).toBeUndefined()
  })
})

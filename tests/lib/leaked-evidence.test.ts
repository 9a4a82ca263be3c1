import { describe, expect, it } from 'vitest'
import { verifyReceipt } from '../../lib/receipt.ts'
import { aHash } from '../branded.ts'
import { addressAt, makeReceipt, type ReceiptChanges } from './make-receipt.ts'
import { restated } from './restate.ts'

/*
 * An ICL that shows revealed evidence to a node of its own before that node commits. The node copies it, and has no text. Both sign
 * what they like, but no honest node reveals before it has seen a commitment of every node of its batch.
 */

const [first, second, third, fourth] = [0, 1, 2, 3].map(addressAt)
const unknown = aHash(`0x${'7'.repeat(64)}`)
const refused = (why: string) => ({
  code: 'receipt-invalid',
  message: expect.stringContaining(why),
})

describe('a copy of evidence that an ICL shows', () => {
  it('inside a batch makes no receipt: the others saw another commitment of the copier', async () => {
    const { receipt } = await makeReceipt('exact', ['yes', 'yes', 'yes'])
    const ofCopier = (commitment = unknown) => [
      receipt.seen[0]!.map((one) => (one.address === third ? { ...one, commitment } : one)),
    ]
    // The copier stands by what the others saw.
    const made = await restated(receipt, { seen: () => ofCopier() })
    await expect(verifyReceipt(made)).rejects.toMatchObject(
      refused(`${third} revealed another answer than it committed to`),
    )
    // The receipt shows what the copier committed to afterwards.
    const { answers } = made
    const late = await restated(receipt, {
      answers: { 0: { seen: answers[0]!.body.seen }, 1: { seen: answers[1]!.body.seen } },
    })
    await expect(verifyReceipt(late)).rejects.toMatchObject(
      refused(`${first} saw other commitments before it revealed`),
    )
    // The others are called a batch of their own.
    const apart = await restated(receipt, {
      seen: ([batch]) => [batch!.slice(0, 2), batch!.slice(2)],
    })
    await expect(verifyReceipt(apart)).rejects.toMatchObject(refused('where 3 were missing'))
  })

  const refilled: ReceiptChanges = {
    ...{ positions: [0, 1, 3], fences: [1, 2, 4], silent: [1] },
    over: [{ position: 2, fence: 3, reason: 'never-revealed', at: 1 }],
  }
  it.each([
    ['to a node that takes the seat of another', ['yes', 'yes', 'yes'], refilled],
    ['to a node that is added', ['yes', 'yes', 'no', 'yes'], {}],
  ])('%s makes it deliver first, which it cannot', async (_, texts, changes) => {
    const { receipt: delivered } = await makeReceipt('exact', [...texts], changes)
    expect(delivered.tally.body.deliverer).toBe(fourth)
    const { receipt: passed } = await makeReceipt('exact', texts, {
      ...changes,
      failed: ['never-delivered'],
    })
    await verifyReceipt(passed)
    expect(passed.failed_deliveries.map(({ address }) => address)).toEqual([fourth])
    expect(passed.tally.body.deliverer).toBe(first)
    // It cannot be left out of the turns, nor counted into the batch before.
    const hidden = await restated(passed, { record: () => ({ failed_deliveries: [] }) })
    await expect(verifyReceipt(hidden)).rejects.toMatchObject(refused('the turn of another node'))
    const merged = await restated(passed, { seen: (seen) => [seen.flat()] })
    await expect(verifyReceipt(merged)).rejects.toMatchObject(refused('batch 0 has 4 nodes'))
    const swapped = await restated(passed, {
      seen: ([batch, copiers = []]) => [
        [...batch!.filter((one) => one.address !== second), ...copiers],
        batch!.filter((one) => one.address === second),
      ],
    })
    await expect(verifyReceipt(swapped)).rejects.toMatchObject(refused('is out of order'))
  })
})

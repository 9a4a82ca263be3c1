import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { runJob } from '../icl/run-job.ts'
import { createTestIcl, joinNode } from '../icl/test-icl.ts'
import { makeReceipt, type ReceiptChanges } from './make-receipt.ts'

const icl = await createTestIcl()
const nodes = await Promise.all(['n1', 'n2', 'n3'].map((name) => joinNode(icl, name)))
const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
const receipt = await job.api.getReceipt(
  { params: { jobId: job.jobId } },
  { readToken: job.readToken },
)
const iclKeys = (await icl.api().getJwks()).keys.map(({ x }) => x)
await icl.stop()

const refused = { code: 'receipt-invalid' }

describe('a receipt', () => {
  it('holds, with and without the keys of the ICL', async () => {
    await verifyReceipt(receipt)
    await verifyReceipt(receipt, { iclKeys })
  })

  it('tells of each part that holds, and of none after one that does not', async () => {
    const partsOf = async (of: Receipt) => {
      const held: string[] = []
      await verifyReceipt(of, {
        iclKeys,
        onHeld: (told) => held.push('node' in told ? `${told.part} ${told.node}` : told.part),
      }).catch(() => {})
      return held
    }
    const given = receipt.answers.map(({ body }) => `answer ${body.address}`)
    expect(await partsOf(receipt)).toEqual([
      ...['job', 'list', ...given],
      ...['agreement', 'delivery', 'tally'],
    ])
    const [one, two, three] = receipt.answers
    const answers = [one!, { ...two!, signature: one!.signature }, three!]
    expect(await partsOf({ ...receipt, answers })).toEqual(['job', 'list', given[0]])
    expect(await partsOf({ ...receipt, verdicts: [] })).toEqual([
      ...['job', 'list', ...given],
      'agreement',
    ])
  })

  it('survives its own JSON', async () => {
    const again = Receipt.parse(JSON.parse(JSON.stringify(z.encode(Receipt, receipt))))
    await verifyReceipt(again, { iclKeys })
    expect(await receiptHash(again)).toBe(await receiptHash(receipt))
  })

  it('holds under each rule, with dissent, failed deliveries and nodes that did not answer', async () => {
    const at = 1_800_000_000
    const lapsed = { position: 1, fence: 2, reason: 'offer-lapsed' as const, at }
    const jobs: [readonly string[], ReceiptChanges][] = [
      [['a', 'a', 'a'], {}],
      [['a', 'b', 'c', 'a', 'a'], {}],
      [['a', 'b', 'c', 'a', 'd', 'e', 'a'], {}],
      [['a', 'b', 'a'], { rule: 'any-two' }],
      [['a', 'b', 'c', 'c'], { rule: 'any-two' }],
      [['a', 'b', 'a', 'a'], { rule: 'majority' }],
      [['a', 'a', 'b'], { listLength: 3 }],
      [['a', 'a', 'a', 'a'], { terms: { quorum: 4, min_matches: 3 } }],
      [['a', 'a', 'a'], { positions: [0, 2, 3], fences: [1, 3, 4], over: [lapsed] }],
      [['a', 'a', 'a'], { fences: [1, 4, 3], over: [lapsed] }],
      [['a', 'b', 'a', 'a'], { failed: ['never-delivered'] }],
      [['a', 'a', 'a'], { failed: ['output-refused', 'node-failed'] }],
    ]
    for (const [answers, changes] of jobs) {
      const { receipt: made, iclKey } = await makeReceipt('exact', answers, changes)
      await verifyReceipt(made, { iclKeys: [iclKey] })
    }
  })

  it('does not hold for keys of another ICL', async () => {
    const other = { iclKeys: ['A'.repeat(43)] }
    await expect(verifyReceipt(receipt, other)).rejects.toMatchObject(refused)
  })
})

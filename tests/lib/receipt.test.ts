import { beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { similar } from '../../lib/comparators/similar.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { runJob } from '../icl/run-job.ts'
import { createTestIcl, joinNode } from '../icl/test-icl.ts'
import { breadAnswer, liftAnswer } from './comparators/texts.ts'
import { makeReceipt } from './make-receipt.ts'

let receipt: Receipt
let iclKeys: string[]

beforeAll(async () => {
  const icl = await createTestIcl()
  const nodes = await Promise.all(['n1', 'n2', 'n3'].map((name) => joinNode(icl, name)))
  const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
  receipt = await job.api.getReceipt({ params: { jobId: job.jobId } }, { readToken: job.readToken })
  iclKeys = (await icl.api().getJwks()).keys.map(({ x }) => x)
  await icl.stop()
})

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
    const [first, second] = receipt.verifiers.map(({ body }) => `verifier ${body.address}`)
    const leader = `leader ${receipt.leader.body.address}`
    expect(await partsOf(receipt)).toEqual(['job', 'list', leader, first, second, 'tally'])
    const [one, two] = receipt.verifiers
    const forged = { ...receipt, verifiers: [one!, { ...two!, signature: one!.signature }] }
    expect(await partsOf(forged)).toEqual(['job', 'list', leader, first])
  })

  it('survives its own JSON', async () => {
    const again = Receipt.parse(JSON.parse(JSON.stringify(z.encode(Receipt, receipt))))
    await verifyReceipt(again, { iclKeys })
    expect(await receiptHash(again)).toBe(await receiptHash(receipt))
  })

  it('does not hold with any character of any of its values changed', async () => {
    const text = JSON.stringify(z.encode(Receipt, receipt))
    const values = [...text.matchAll(/:("(?:[^"\\]*)"|\d+)/g)]
    expect(values.length).toBeGreaterThan(50)
    let tried = 0
    for (const match of values) {
      const start = match.index + 1
      for (const at of [start + 1, start + match[1]!.length - 2]) {
        const old = text[at]!
        if (at < start || !/[0-9a-zA-Z]/.test(old)) continue
        const changed = text.slice(0, at) + (old === '1' ? '2' : '1') + text.slice(at + 1)
        const parsed = Receipt.safeParse(safeJson(changed))
        if (!parsed.success) continue
        tried++
        const holds = await verifyReceipt(parsed.data, { iclKeys }).then(
          () => true,
          () => false,
        )
        expect([holds, match[0], changed.slice(at - 8, at + 8)]).toEqual([
          false,
          match[0],
          changed.slice(at - 8, at + 8),
        ])
      }
    }
    expect(tried).toBeGreaterThan(50)
  })

  it('does not hold with a signature or a verifier missing', async () => {
    const [first, ...rest] = receipt.verifiers
    await expect(verifyReceipt({ ...receipt, verifiers: rest })).rejects.toMatchObject(refused)
    const swapped = { ...first!, signature: receipt.leader.signature }
    await expect(
      verifyReceipt({ ...receipt, verifiers: [swapped, ...rest] }),
    ).rejects.toMatchObject(refused)
  })

  it('does not hold when a contradiction is passed off as inconclusive, which the rules refuse too', async () => {
    const answers = [liftAnswer, liftAnswer, breadAnswer] as const
    const { receipt: misnamed } = await makeReceipt('similar/2', answers, [
      undefined,
      'inconclusive',
    ])
    const [leader, contradicting] = [misnamed.leader, misnamed.verifiers[1]!]
    expect(similar.compare(leader.body.evidence, contradicting.body.evidence)).toBe('no-match')
    await expect(verifyReceipt(misnamed)).rejects.toThrow('refutes its verdict')
    const { receipt: unseen } = await makeReceipt(
      'exact',
      ['a', 'a', 'a', 'b'],
      [undefined, undefined, 'output-unavailable'],
    )
    await verifyReceipt(unseen)
  })

  it('does not hold for keys of another ICL', async () => {
    const other = { iclKeys: ['A'.repeat(43)] }
    await expect(verifyReceipt(receipt, other)).rejects.toMatchObject(refused)
  })
})

const safeJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

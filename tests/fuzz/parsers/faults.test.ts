import { describe, expect } from 'vitest'
import { z } from 'zod'
import { verifyFault } from '../../../lib/fault.ts'
import { FaultEvidence } from '../../../lib/schemas/fault.ts'
import type { VerdictStatement } from '../../../lib/schemas/statements.ts'
import { statementHash } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { answerOf, makeReceipt, signedByNode } from '../../lib/make-receipt.ts'
import { changedJson, expectUnpolluted, forAll, hostileJson, itHolds } from './runs.ts'

const { receipt } = await makeReceipt('exact', ['yes', 'no', 'yes', 'yes'])
const { icl_origin, chain_id, jobId, delivery } = receipt
const about = { version: 2 as const, icl_origin, chain_id, jobId }
const answer = answerOf(receipt, delivery.body.address)
const own = answerOf(receipt, receipt.list.members[1]!)
const { fence, address } = own.body

/** A node that says `match` of an answer that is not its own. */
const refuted: FaultEvidence = {
  ...{ ...about, kind: 'verdict-refuted', fence, address },
  statements: [
    answer,
    delivery,
    own,
    await signedByNode<VerdictStatement>({
      statement: 'svc-verdict-v2',
      ...{ jobId, address, fence, verdict: 'match' },
      answer: await statementHash(own.body),
      delivery: await statementHash(delivery.body),
    }),
  ],
}
/** A node that has signed two answers. */
const equivocated: FaultEvidence = {
  ...{ ...about, kind: 'equivocated', fence, address },
  statements: [own, await signedByNode({ ...own.body, salt: 'A'.repeat(43) })],
}

describe('proofs of faults', () => {
  itHolds('hold as they were made, and with nothing else in any place', async () => {
    for (const proof of [refuted, equivocated]) {
      expect(await verifyFault(proof)).toBe(proof.kind)
      const whole: unknown = JSON.parse(JSON.stringify(z.encode(FaultEvidence, proof)))
      let refused = 0
      await forAll(200, changedJson(whole), async (changed) => {
        const parsed = FaultEvidence.safeParse(changed)
        if (!parsed.success) return
        // A field that is not asked for is not part of the proof.
        if (JSON.stringify(z.encode(FaultEvidence, parsed.data)) === JSON.stringify(whole)) return
        const error = await verifyFault(parsed.data).catch((caught: unknown) => caught)
        expect(error).toBeInstanceOf(SvcError)
        refused++
      })
      expect(refused).toBeGreaterThan(0)
    }
  })

  itHolds('of any JSON are refused by their schema', async () => {
    await forAll(300, hostileJson, (value) => {
      expect(FaultEvidence.safeParse(value).success).toBe(false)
    })
    expectUnpolluted()
  })
})

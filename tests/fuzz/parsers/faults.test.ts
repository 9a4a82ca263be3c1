import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { verifyFault } from '../../../lib/fault.ts'
import { FaultEvidence } from '../../../lib/schemas/fault.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { statementBytes } from '../../../lib/statements.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { makeReceipt } from '../../lib/make-receipt.ts'
import { changedJson, expectUnpolluted, hostileJson, patience, runs } from './runs.ts'

const { receipt } = await makeReceipt('exact', ['yes', 'no', 'yes'])
const { icl_origin, chain_id, jobId, leader, verifiers } = receipt
const about = { version: 1 as const, icl_origin, chain_id, jobId }
const refutedVerdict = verifiers[0]!

/** A verifier that says `match` of an answer that is not its own. */
const refuted: FaultEvidence = {
  ...about,
  kind: 'verdict-refuted',
  role: 'verifier',
  fence: refutedVerdict.body.fence,
  address: refutedVerdict.body.address,
  statements: [leader, refutedVerdict],
}
const leaderKey = await signingKeyFromSeed(new Uint8Array(32).fill(21))
const otherBody = { ...leader.body, output_cid: `bafkrei${'c'.repeat(52)}` }
/** A leader that has signed two answers. */
const equivocated: FaultEvidence = {
  ...about,
  kind: 'equivocated',
  role: 'leader',
  fence: leader.body.fence,
  address: leader.body.address,
  statements: [
    leader,
    { ...leader, body: otherBody, signature: await leaderKey.sign(statementBytes(otherBody)) },
  ],
}

describe('proofs of faults', () => {
  it(
    'hold as they were made, and with nothing else in any place',
    async () => {
      for (const proof of [refuted, equivocated]) {
        expect(await verifyFault(proof)).toBe(proof.kind)
        const whole: unknown = JSON.parse(JSON.stringify(z.encode(FaultEvidence, proof)))
        let refused = 0
        await fc.assert(
          fc.asyncProperty(changedJson(whole), async (changed) => {
            const parsed = FaultEvidence.safeParse(changed)
            if (!parsed.success) return
            // A field that is not asked for is not part of the proof.
            if (JSON.stringify(z.encode(FaultEvidence, parsed.data)) === JSON.stringify(whole))
              return
            const error = await verifyFault(parsed.data).catch((caught: unknown) => caught)
            expect(error).toBeInstanceOf(SvcError)
            refused++
          }),
          runs(200),
        )
        expect(refused).toBeGreaterThan(0)
      }
    },
    patience,
  )

  it(
    'of any JSON are refused by their schema',
    () => {
      fc.assert(
        fc.property(hostileJson, (value) => {
          expect(FaultEvidence.safeParse(value).success).toBe(false)
        }),
        runs(300),
      )
      expectUnpolluted()
    },
    patience,
  )
})

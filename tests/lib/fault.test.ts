import { describe, expect, it } from 'vitest'
import { similar } from '../../lib/comparators/similar.ts'
import { faultEvidenceHash, faultIdOf, isRefuted, verifyFault } from '../../lib/fault.ts'
import type { Evidence } from '../../lib/schemas/evidence.ts'
import type { FaultEvidence } from '../../lib/schemas/fault.ts'
import type { VerdictReason } from '../../lib/schemas/jobs.ts'
import type {
  AnswerStatement,
  DeliveryStatement,
  SignedAnswer,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'
import { answerOf, makeReceipt, signedByNode, signerOf } from './make-receipt.ts'

/** Of the node that delivers, and of one that said something else. */

const otherHash = aHash(`0x${'1'.repeat(64)}`)
const otherCid = `bafkrei${'c'.repeat(51)}a`

const deliveryWith = (changes: Partial<DeliveryStatement>) =>
  signedByNode({ ...delivery.body, ...changes })
const ownWith = (changes: Partial<AnswerStatement>) => signedByNode({ ...own.body, ...changes })

/** A verdict of the node that said something else: that its answer matches. */
async function verdictWith(changes: Partial<VerdictStatement> = {}) {
  const { jobId, address, fence } = own.body
  const body: VerdictStatement = {
    statement: 'svc-verdict-v2',
    ...{ jobId, address, fence, verdict: 'match' },
    answer: await statementHash(own.body),
    delivery: await statementHash(delivery.body),
    ...changes,
  }
  return signedByNode(body)
}

const receipt = (await makeReceipt('exact', ['yes', 'no', 'yes', 'yes'])).receipt
const delivery = receipt.delivery
const answer = answerOf(receipt, delivery.body.address)
const own = answerOf(receipt, receipt.list.members[1]!)
const { icl_origin, chain_id, jobId } = receipt
const about = { version: 2, icl_origin, chain_id, jobId } as const
const { fence, address } = own.body
const refuted: FaultEvidence = {
  ...{ ...about, kind: 'verdict-refuted', fence, address },
  statements: [answer, delivery, own, await verdictWith()],
}
const equivocated: FaultEvidence = {
  ...{ ...about, kind: 'equivocated', fence, address },
  statements: [own, await ownWith({ salt: 'A'.repeat(43) })],
}

const refusal = (evidence: FaultEvidence) =>
  verifyFault(evidence).then(
    (kind) => `proves ${kind}`,
    (error: { code?: string; message: string; hint?: string }) => {
      expect(error).toMatchObject({ code: 'fault-invalid', hint: expect.stringMatching(/ICL/) })
      return error.message.replace('The evidence proves no fault: ', '')
    },
  )

describe('the proof of a fault', () => {
  it('holds for two answers, two deliveries, two verdicts on one delivery, and a verdict that is refuted', async () => {
    expect(await refusal(refuted)).toBe('proves verdict-refuted')
    expect(await refusal(equivocated)).toBe('proves equivocated')
    const { fence, address } = delivery.body
    const deliveries = [delivery, await deliveryWith({ output_cid: otherCid })]
    const twice = { ...equivocated, fence, address, statements: deliveries }
    expect(await refusal(twice)).toBe('proves equivocated')
    const changed = { verdict: 'no-match', reason: 'inconclusive' } as const
    const verdicts = [await verdictWith(), await verdictWith(changed)]
    expect(await refusal({ ...equivocated, statements: verdicts })).toBe('proves equivocated')
  })

  it('is about one job, by keys that the wallets granted and that signed', async () => {
    for (const proof of [refuted, equivocated]) {
      const [{ body }, second] = proof.statements as [SignedAnswer, SignedAnswer]
      expect(await refusal({ ...proof, jobId: aJobId(otherHash) })).toBe(
        `${body.address} spoke of another job`,
      )
      const ungranted = `the wallet of ${body.address} did not grant the session key`
      expect(await refusal({ ...proof, icl_origin: 'https://other.test' })).toBe(ungranted)
      expect(await refusal({ ...proof, chain_id: 1 })).toBe(ungranted)
      const [first, , ...rest] = proof.statements
      const unsigned = { ...second, signature: first!.signature }
      expect(await refusal({ ...proof, statements: [first!, unsigned, ...rest] })).toBe(
        `${second.body.address} did not sign its statement`,
      )
    }
  })

  it('of two statements needs two of a kind that differ, by one run of the accused, for one fence', async () => {
    const [first, second] = equivocated.statements
    const of = (statements: FaultEvidence['statements']) => refusal({ ...equivocated, statements })
    expect(await of([first!, first!])).toBe('both statements are the same')
    expect(await of([first!])).toBe('it needs two statements')
    expect(await of([])).toBe('it needs two statements')
    expect(await of([first!, second!, second!])).toBe('it needs two statements')
    expect(await of([first!, await verdictWith()])).toBe('the statements are of different kinds')
    expect(await refusal({ ...equivocated, address: nodeAddress('a') })).toBe(
      'the statements are of different nodes',
    )
    expect(await of([first!, answer])).toBe('the statements are of different nodes')
    const later = await ownWith({ fence: 9 })
    expect(await of([first!, later])).toBe('the statements are for different fences')
    expect(await of([later, first!])).toBe('the statements are for different fences')
    const elsewhere = await verdictWith({ delivery: otherHash })
    expect(await of([await verdictWith(), elsewhere])).toBe(
      'the verdicts are on different deliveries',
    )
    const { key, session } = await signerOf('n2', 99)
    const { body } = second!
    const restarted = { body, session, signature: await key.sign(statementBytes(body)) }
    expect(await of([first!, restarted] as FaultEvidence['statements'])).toBe(
      'two runs of the node signed the statements',
    )
  })

  it('of a verdict is about that very delivery of that very answer, and the own one', async () => {
    const verdict = await verdictWith()
    const of = (statements: FaultEvidence['statements']) => refusal({ ...refuted, statements })
    expect(await of([answer, delivery, own])).toBe('it needs four statements')
    expect(await of([delivery, answer, own, verdict])).toBe(
      'it needs an answer, its delivery, the own answer and the verdict',
    )
    expect(await refusal({ ...refuted, address: nodeAddress('a') })).toBe(
      'the statements are of different nodes',
    )
    expect(await refusal({ ...refuted, fence: 9 })).toBe('the statements are for different fences')
    const third = answerOf(receipt, receipt.verdicts[0]!.body.address)
    expect(await of([third, delivery, own, verdict])).toBe(
      'the delivery is not of the other answer',
    )
    const { address, fence } = own.body
    const ofOwn = await deliveryWith({ address, fence, answer: await statementHash(own.body) })
    expect(await of([own, ofOwn, own, verdict])).toBe('the delivery is not of the other answer')
    expect(await of([answer, await deliveryWith({ answer: otherHash }), own, verdict])).toBe(
      'another answer was delivered',
    )
    const elsewhere = await verdictWith({ delivery: otherHash })
    expect(await of([answer, delivery, own, elsewhere])).toBe('the verdict is on another delivery')
    expect(await of([answer, delivery, await ownWith({ salt: 'A'.repeat(43) }), verdict])).toBe(
      'the verdict names another own answer',
    )
  })

  it('of a verdict needs evidence for the same comparator that contradicts it', async () => {
    const against = async (change: Partial<AnswerStatement>) => {
      const changed = await ownWith(change)
      const verdict = await verdictWith({ answer: await statementHash(changed.body) })
      return refusal({ ...refuted, statements: [answer, delivery, changed, verdict] })
    }
    expect(await against({})).toBe('proves verdict-refuted')
    const { evidence } = answer.body
    expect(await against({ evidence })).toBe('the evidence bears the verdict out')
    const other: Evidence = { ...evidence, comparator: 'similar/2' }
    expect(await against({ evidence: other })).toBe(
      'the answers were made for different comparators',
    )
  })
})

describe('a verdict is refuted by the answers', () => {
  const shown = (digest: string): { evidence: Evidence } => ({
    evidence: { comparator: 'exact', digest: digest.repeat(43), tokens: 1, units: 1 },
  })
  it.each<['refuted' | 'not', 'match' | 'no-match', VerdictReason | undefined, string]>([
    ['not', 'match', undefined, 'A'],
    ['refuted', 'match', undefined, 'E'],
    ['refuted', 'no-match', 'different-answer', 'A'],
    ['not', 'no-match', 'different-answer', 'E'],
    ['refuted', 'no-match', 'inconclusive', 'A'],
    ['refuted', 'no-match', 'inconclusive', 'E'],
    ['not', 'no-match', 'output-mismatch', 'A'],
    ['not', 'no-match', 'output-unavailable', 'A'],
    ['not', 'no-match', undefined, 'A'],
  ])('%s: %s (%s) with evidence %s on A', (outcome, verdict, reason, digest) => {
    const said = { verdict, ...(reason && { reason }) }
    expect(isRefuted(shown('A'), shown(digest), said)).toBe(outcome === 'refuted')
  })

  it('where nothing can be said, unless it says so', async () => {
    const evidenceOf = async (text: string) => ({
      evidence: await similar.evidenceOf({ text, prompt: 'Who?', key: new Uint8Array(32).fill(3) }),
    })
    const [one, other] = [await evidenceOf('Paris'), await evidenceOf('Lyon')]
    expect(similar.compare(one.evidence, other.evidence)).toBe('inconclusive')
    const unsure = { verdict: 'no-match', reason: 'inconclusive' } as const
    expect(isRefuted(one, other, unsure)).toBe(false)
    expect(isRefuted(one, one, unsure)).toBe(true)
    expect(isRefuted(one, other, { verdict: 'no-match', reason: 'different-answer' })).toBe(true)
    expect(isRefuted(one, other, { verdict: 'match' })).toBe(true)
  })
})

describe('the name of a fault', () => {
  // Fixed: the contract keeps them, and other implementations must come to the same.
  it('is known, and depends on each of its parts', () => {
    const parts = {
      kind: 'equivocated',
      jobId: aJobId(`0x${'1'.repeat(64)}`),
      fence: 3,
      address: nodeAddress('a'),
    } as const
    const known = faultIdOf(parts)
    expect(known).toBe('0x0956c49a7f520cefdc3e6c7d7defbe595d089138c94accba0bf0ca533d3de5ef')
    const others = [
      { ...parts, kind: 'verdict-refuted' as const },
      { ...parts, jobId: aJobId(`0x${'2'.repeat(64)}`) },
      { ...parts, fence: 4 },
      { ...parts, address: nodeAddress('b') },
    ].map((other) => faultIdOf(other))
    expect(new Set([known, ...others]).size).toBe(5)
  })

  it('of its evidence changes with the evidence', async () => {
    const hash = await faultEvidenceHash(refuted)
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await faultEvidenceHash({ ...refuted, fence: 9 })).not.toBe(hash)
    expect(await faultEvidenceHash(structuredClone(refuted))).toBe(hash)
  })
})

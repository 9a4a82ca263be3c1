import { beforeAll, describe, expect, it } from 'vitest'
import { similar } from '../../lib/comparators/similar.ts'
import { faultEvidenceHash, faultIdOf, isRefuted, verifyFault } from '../../lib/fault.ts'
import type { Evidence } from '../../lib/schemas/evidence.ts'
import type { FaultEvidence } from '../../lib/schemas/fault.ts'
import type { VerdictReason } from '../../lib/schemas/jobs.ts'
import type { LeaderStatement, Receipt, VerifierStatement } from '../../lib/schemas/receipt.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'
import { makeReceipt, signerOf } from './make-receipt.ts'

let receipt: Receipt
let leaderKey: SigningKey
let verifierKey: SigningKey
let refuted: FaultEvidence
let equivocated: FaultEvidence

/** The statement with its author's session, signed again by it. */
const signed = async <T extends LeaderStatement | VerifierStatement>(
  { session }: Receipt['leader'] | Receipt['verifiers'][number],
  body: T,
  key: SigningKey,
) => ({ body, session, signature: await key.sign(statementBytes(body)) })

const byLeader = (changes: Partial<LeaderStatement> = {}) =>
  signed(receipt.leader, { ...receipt.leader.body, ...changes }, leaderKey)
const byVerifier = (changes: Partial<VerifierStatement> = {}) => {
  const [verifier] = receipt.verifiers
  return signed(verifier!, { ...verifier!.body, ...changes }, verifierKey)
}

beforeAll(async () => {
  receipt = (await makeReceipt('exact', ['yes', 'no', 'yes'])).receipt
  leaderKey = await signingKeyFromSeed(new Uint8Array(32).fill(21))
  verifierKey = await signingKeyFromSeed(new Uint8Array(32).fill(22))
  const { icl_origin, chain_id, jobId, leader, verifiers } = receipt
  const about = { version: 1, icl_origin, chain_id, jobId } as const
  const { fence, address } = verifiers[0]!.body
  refuted = {
    ...{ ...about, kind: 'verdict-refuted', role: 'verifier', fence, address },
    statements: [leader, verifiers[0]!],
  }
  equivocated = {
    ...{ ...about, kind: 'equivocated', role: 'leader', fence: leader.body.fence },
    address: leader.body.address,
    statements: [leader, await byLeader({ output_cid: `bafkrei${'c'.repeat(52)}` })],
  }
})

const refusal = (evidence: FaultEvidence) =>
  verifyFault(evidence).then(
    (kind) => `proves ${kind}`,
    (error: { code?: string; message: string; hint?: string }) => {
      expect(error).toMatchObject({ code: 'fault-invalid', hint: expect.stringMatching(/ICL/) })
      return error.message.replace('The evidence proves no fault: ', '')
    },
  )

describe('a proof of a fault', () => {
  it('proves what it says, of a leader as of a verifier', async () => {
    expect(await verifyFault(refuted)).toBe('verdict-refuted')
    expect(await verifyFault(equivocated)).toBe('equivocated')
    const statements = [receipt.verifiers[0]!, await byVerifier({ salt: 'b3RoZXI' })]
    const { role, fence, address } = refuted
    expect(await verifyFault({ ...equivocated, role, fence, address, statements })).toBe(
      'equivocated',
    )
  })

  it('is none where two runs of the node, so two session keys, signed', async () => {
    const { leader } = receipt
    const { key, session } = await signerOf('n1', 77)
    const other = { ...leader.body, output_cid: `bafkrei${'c'.repeat(52)}` }
    const statements = [leader, await signed({ ...leader, session }, other, key)]
    expect(await refusal({ ...equivocated, statements })).toBe(
      'two runs of the node signed the statements',
    )
  })

  it('is about one job, by keys that the wallets granted and that signed', async () => {
    const other = aHash(`0x${'1'.repeat(64)}`)
    const leader = receipt.leader.body.address
    for (const proof of [refuted, equivocated]) {
      expect(await refusal({ ...proof, jobId: aJobId(other) })).toBe(
        `${leader} spoke of another job`,
      )
      const ungranted = `the wallet of ${leader} did not grant the session key`
      expect(await refusal({ ...proof, icl_origin: 'https://other.test' })).toBe(ungranted)
      expect(await refusal({ ...proof, chain_id: 1 })).toBe(ungranted)
      const [first, second] = proof.statements
      const unsigned = { ...second!, signature: first!.signature }
      expect(await refusal({ ...proof, statements: [first!, unsigned] })).toBe(
        `${second!.body.address} did not sign its statement`,
      )
    }
  })

  it('of two statements needs two that differ, by the accused, for one fence', async () => {
    const [first] = equivocated.statements
    expect(await refusal({ ...equivocated, statements: [first!, first!] })).toBe(
      'both statements are the same',
    )
    expect(await refusal({ ...equivocated, address: nodeAddress('a') })).toBe(
      'the statements are of different nodes',
    )
    const later = await byLeader({ fence: 2 })
    for (const statements of [
      [first!, later],
      [later, first!],
    ]) {
      expect(await refusal({ ...equivocated, statements })).toBe(
        'the statements are for different fences',
      )
    }
    const verdict = receipt.verifiers[0]!
    expect(await refusal({ ...equivocated, statements: [first!, verdict] })).toBe(
      'it has no two statements of a leader',
    )
    expect(await refusal({ ...equivocated, role: 'verifier' })).toBe(
      'it has no two statements of a verifier',
    )
  })

  it('of one statement alone, or of none, is not asked for', async () => {
    const [first] = equivocated.statements
    for (const statements of [[first!], []]) {
      await expect(verifyFault({ ...equivocated, statements })).rejects.toThrow(
        'A proof has two statements',
      )
    }
  })

  it('of a verdict is about a verifier, and a verdict on that very statement', async () => {
    expect(await refusal({ ...refuted, role: 'leader' })).toBe('only a verifier gives verdicts')
    expect(await refusal({ ...refuted, address: nodeAddress('a') })).toBe(
      'the statements are of different nodes',
    )
    expect(await refusal({ ...refuted, fence: 9 })).toBe('the statements are for different fences')
    const [leader, verdict] = refuted.statements
    expect(await refusal({ ...refuted, statements: [verdict!, verdict!] })).toBe(
      'it is not about a verdict',
    )
    const { address, fence } = receipt.leader.body
    expect(await refusal({ ...refuted, address, fence, statements: [leader!, leader!] })).toBe(
      'it has no two statements of a verifier',
    )
    const elsewhere = await byVerifier({ leader_statement: aHash(`0x${'1'.repeat(64)}`) })
    expect(await refusal({ ...refuted, statements: [leader!, elsewhere] })).toBe(
      'the verdict is on another statement',
    )
  })

  it('of a verdict needs evidence for the same comparator that contradicts it', async () => {
    const [leader] = refuted.statements
    const { evidence } = receipt.leader.body
    const leader_statement = await statementHash(leader!.body)
    const against = async (changes: Partial<VerifierStatement>) =>
      refusal({
        ...refuted,
        statements: [leader!, await byVerifier({ leader_statement, ...changes })],
      })
    expect(await against({})).toBe('proves verdict-refuted')
    expect(await against({ evidence })).toBe('the evidence bears the verdict out')
    const other: Evidence = { ...evidence, comparator: 'similar/2' }
    expect(await against({ evidence: other })).toBe(
      'the answers were made for different comparators',
    )
  })
})

describe('a verdict is refuted by its own evidence', () => {
  const shown = (digest: string): { evidence: Evidence } => ({
    evidence: { comparator: 'exact', digest: digest.repeat(43), tokens: 1 },
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
    expect(isRefuted(shown('A'), { ...shown(digest), verdict, reason })).toBe(outcome === 'refuted')
  })
})

describe('a verdict that nothing can be said', () => {
  it('is refuted only where something can', async () => {
    const evidenceOf = async (text: string) => ({
      evidence: await similar.evidenceOf({ text, prompt: 'Who?', key: new Uint8Array(32).fill(3) }),
    })
    const [one, other] = [await evidenceOf('Paris'), await evidenceOf('Lyon')]
    expect(similar.compare(one.evidence, other.evidence)).toBe('inconclusive')
    const said = { ...other, verdict: 'no-match' } as const
    expect(isRefuted(one, { ...said, reason: 'inconclusive' })).toBe(false)
    expect(isRefuted(one, { ...said, reason: 'different-answer' })).toBe(true)
    expect(isRefuted(one, { ...other, verdict: 'match' })).toBe(true)
    expect(isRefuted(one, { ...one, verdict: 'no-match', reason: 'inconclusive' })).toBe(true)
  })
})

describe('the name of a fault', () => {
  // Fixed: the contract keeps them, and other implementations must come to the same.
  it('is known, and depends on each of its parts', () => {
    const parts = {
      kind: 'equivocated',
      jobId: aJobId(`0x${'1'.repeat(64)}`),
      role: 'leader',
      fence: 3,
      address: nodeAddress('a'),
    } as const
    const known = faultIdOf(parts)
    expect(known).toBe('0x2a5aea14d0bd1113dca089fb60de30e98da7bef6022476d0a0d0084b6d821737')
    const others = [
      { ...parts, kind: 'verdict-refuted' as const },
      { ...parts, jobId: aJobId(`0x${'2'.repeat(64)}`) },
      { ...parts, role: 'verifier' as const },
      { ...parts, fence: 4 },
      { ...parts, address: nodeAddress('b') },
    ].map((other) => faultIdOf(other))
    expect(new Set([known, ...others]).size).toBe(6)
  })

  it('of its evidence changes with the evidence', async () => {
    const hash = await faultEvidenceHash(refuted)
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    expect(await faultEvidenceHash({ ...refuted, fence: 9 })).not.toBe(hash)
    expect(await faultEvidenceHash(structuredClone(refuted))).toBe(hash)
  })
})

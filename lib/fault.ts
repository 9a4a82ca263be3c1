import { encodeAbiParameters } from 'viem'
import { z } from 'zod'
import { canonicalJson } from './canonical-json.ts'
import type { Hash32 } from './codecs.ts'
import { comparators } from './comparators/all.ts'
import { keccak256Hex, sha256Hex } from './digest.ts'
import { FaultEvidence, type FaultKind } from './schemas/fault.ts'
import type { LeaderStatement, VerifierStatement } from './schemas/receipt.ts'
import { verifySession } from './session-grant.ts'
import { verifySignature } from './session-key.ts'
import { statementBytes, statementHash } from './statements.ts'
import { SvcError } from './svc-error.ts'

const parameters = [
  { type: 'string' },
  { type: 'bytes32' },
  { type: 'string' },
  { type: 'uint256' },
  { type: 'address' },
] as const

/** What a fault is called on chain: keccak256(abi.encode(kind, jobId, role, fence, address)), so that it can be proposed once only. */
export const faultIdOf = ({
  kind,
  jobId,
  role,
  fence,
  address,
}: Pick<FaultEvidence, 'kind' | 'jobId' | 'role' | 'fence' | 'address'>): Hash32 =>
  keccak256Hex(encodeAbiParameters(parameters, [kind, jobId, role, BigInt(fence), address]))

/** The hash of a proof as it stands on chain: SHA-256 of its canonical JSON. */
export const faultEvidenceHash = (evidence: FaultEvidence): Promise<Hash32> =>
  sha256Hex(canonicalJson(z.encode(FaultEvidence, evidence)))

/** True for a verdict that its own evidence contradicts, held against the leader's. */
export function isRefuted(
  leader: Pick<LeaderStatement, 'evidence'>,
  verdict: Pick<VerifierStatement, 'evidence' | 'verdict' | 'reason'>,
): boolean {
  const comparator = comparators[leader.evidence.comparator]
  const comparison = comparator.compare(leader.evidence, verdict.evidence)
  if (verdict.verdict === 'match') return comparison !== 'match'
  if (verdict.reason === 'different-answer') return comparison !== 'no-match'
  if (verdict.reason === 'inconclusive') return comparison !== 'inconclusive'
  return false
}

const check = (holds: boolean, why: string): void => {
  if (holds) return
  throw new SvcError('fault-invalid', `The evidence proves no fault: ${why}`, {
    hint: 'Ask the ICL for the evidence again; on chain is its hash.',
  })
}

/**
 * Checks the proof of a fault without a network and without trusting the ICL: wallets granted the keys that signed the
 * statements, and these, by one session key, contradict one another, or show the verdict to be refuted. Returns which it
 * is; throws SvcError `fault-invalid`.
 */
export async function verifyFault(evidence: FaultEvidence): Promise<FaultKind> {
  for (const signed of evidence.statements) await verifyStatement(evidence, signed)
  const [first, second] = evidence.statements.map(({ body }) => body)
  if (!first || !second) throw new TypeError('A proof has two statements')
  if (evidence.kind === 'equivocated') {
    for (const body of [first, second]) verifyAccused(evidence, body)
    const keys = new Set(evidence.statements.map(({ session }) => session.key))
    check(keys.size === 1, 'two runs of the node signed the statements')
    const [one, other] = await Promise.all([statementHash(first), statementHash(second)])
    check(one !== other, 'both statements are the same')
    return evidence.kind
  }
  check(evidence.role === 'verifier', 'only a verifier gives verdicts')
  verifyAccused(evidence, second)
  if (first.statement !== 'svc-leader-v1' || second.statement !== 'svc-verifier-v1') {
    throw new SvcError('fault-invalid', 'The evidence proves no fault: it is not about a verdict', {
      hint: 'Ask the ICL for the evidence again; on chain is its hash.',
    })
  }
  check(
    second.leader_statement === (await statementHash(first)),
    'the verdict is on another statement',
  )
  check(
    second.evidence.comparator === first.evidence.comparator,
    'the answers were made for different comparators',
  )
  check(isRefuted(first, second), 'the evidence bears the verdict out')
  return evidence.kind
}

type Statement = LeaderStatement | VerifierStatement

function verifyAccused({ role, address, fence }: FaultEvidence, body: Statement): void {
  const kind = role === 'leader' ? 'svc-leader-v1' : 'svc-verifier-v1'
  check(body.statement === kind, `it has no two statements of a ${role}`)
  check(body.address === address, 'the statements are of different nodes')
  check(body.fence === fence, 'the statements are for different fences')
}

async function verifyStatement(
  { icl_origin: iclOrigin, chain_id: chainId, jobId }: FaultEvidence,
  { body, session, signature }: FaultEvidence['statements'][number],
): Promise<void> {
  check(body.jobId === jobId, `${body.address} spoke of another job`)
  const granted = await verifySession(
    { address: body.address, key: session.key, iclOrigin, chainId, notAfter: session.not_after },
    session.signature,
  )
  check(granted, `the wallet of ${body.address} did not grant the session key`)
  check(
    await verifySignature(session.key, signature, statementBytes(body)),
    `${body.address} did not sign its statement`,
  )
}

import { encodeAbiParameters } from 'viem'
import { z } from 'zod'
import { canonicalJson } from './canonical-json.ts'
import type { Hash32 } from './codecs.ts'
import { comparators } from './comparators/all.ts'
import { keccak256Hex, sha256Hex } from './digest.ts'
import { FaultEvidence, type FaultKind } from './schemas/fault.ts'
import type { AnswerStatement, VerdictStatement } from './schemas/statements.ts'
import { statementChecker } from './signed-statement.ts'
import { statementHash } from './statements.ts'
import { type Check, checkerOf } from './svc-error.ts'

const parameters = [
  { type: 'string' },
  { type: 'bytes32' },
  { type: 'uint256' },
  { type: 'address' },
] as const

/** A fault's id on chain, keccak256(abi.encode(kind, jobId, fence, address)), under which it can be proposed only once. */
export const faultIdOf = ({
  kind,
  jobId,
  fence,
  address,
}: Pick<FaultEvidence, 'kind' | 'jobId' | 'fence' | 'address'>): Hash32 =>
  keccak256Hex(encodeAbiParameters(parameters, [kind, jobId, BigInt(fence), address]))

/** The hash of a proof, as on chain: SHA-256 of its canonical JSON. */
export const faultEvidenceHash = (evidence: FaultEvidence): Promise<Hash32> =>
  sha256Hex(canonicalJson(z.encode(FaultEvidence, evidence)))

/** True when the comparison of the node's `own` evidence with the deliverer's contradicts the node's verdict. */
export function isRefuted(
  deliverer: Pick<AnswerStatement, 'evidence'>,
  own: Pick<AnswerStatement, 'evidence'>,
  { verdict, reason }: Pick<VerdictStatement, 'verdict' | 'reason'>,
): boolean {
  const comparator = comparators[deliverer.evidence.comparator]
  const comparison = comparator.compare(deliverer.evidence, own.evidence)
  if (verdict === 'match') return comparison !== 'match'
  if (reason === 'different-answer') return comparison !== 'no-match'
  if (reason === 'inconclusive') return comparison !== 'inconclusive'
  return false
}

const check: Check = checkerOf(
  'fault-invalid',
  'The evidence proves no fault',
  'Ask the ICL for the evidence again. Its hash is on chain.',
)

/** Checks the proof of a fault without a network and without trusting the ICL, and returns its kind. Throws SvcError `fault-invalid`. */
export async function verifyFault(evidence: FaultEvidence): Promise<FaultKind> {
  const checkSigned = statementChecker(evidence, check)
  for (const signed of evidence.statements) await checkSigned(signed)
  if (evidence.kind === 'equivocated') await verifyEquivocation(evidence)
  else await verifyRefutation(evidence)
  return evidence.kind
}

async function verifyEquivocation(evidence: FaultEvidence): Promise<void> {
  const { statements } = evidence
  const [first, second] = statements.map(({ body }) => body)
  check(first !== undefined && second !== undefined, 'it needs two statements')
  check(statements.length === 2, 'it needs two statements')
  verifyAccused(evidence, first)
  verifyAccused(evidence, second)
  check(first.statement === second.statement, 'the statements are of different kinds')
  const isAboutOne =
    first.statement !== 'svc-verdict-v2' ||
    second.statement !== 'svc-verdict-v2' ||
    first.delivery === second.delivery
  check(isAboutOne, 'the verdicts are on different deliveries')
  const keys = new Set(statements.map(({ session }) => session.key))
  check(keys.size === 1, 'two runs of the node signed the statements')
  const [one, other] = await Promise.all([statementHash(first), statementHash(second)])
  check(one !== other, 'both statements are the same')
}

async function verifyRefutation(evidence: FaultEvidence): Promise<void> {
  const { statements } = evidence
  check(statements.length === 4, 'it needs four statements')
  const [answer, delivery, own, verdict] = statements.map(({ body }) => body)
  check(
    answer?.statement === 'svc-answer-v3' &&
      delivery?.statement === 'svc-delivery-v2' &&
      own?.statement === 'svc-answer-v3' &&
      verdict?.statement === 'svc-verdict-v2',
    'it needs an answer, its delivery, the own answer and the verdict',
  )
  verifyAccused(evidence, own)
  verifyAccused(evidence, verdict)
  check(
    delivery.address === answer.address && delivery.address !== evidence.address,
    'the delivery is not of the other answer',
  )
  check(delivery.answer === (await statementHash(answer)), 'another answer was delivered')
  check(verdict.delivery === (await statementHash(delivery)), 'the verdict is on another delivery')
  check(verdict.answer === (await statementHash(own)), 'the verdict names another own answer')
  check(
    own.evidence.comparator === answer.evidence.comparator,
    'the answers were made for different comparators',
  )
  check(isRefuted(answer, own, verdict), 'the evidence bears the verdict out')
}

function verifyAccused(
  { address, fence }: FaultEvidence,
  body: FaultEvidence['statements'][number]['body'],
): void {
  check(body.address === address, 'the statements are of different nodes')
  check(body.fence === fence, 'the statements are for different fences')
}

/*
 * Problem: a check costs requests to the coprocessor and the gateways, and produces a signed statement. A hostile ICL could make up
 * deliveries without end.
 *
 * Idea: before it looks at the evidence, the node checks that the statements come from another member of this job's list, are signed by
 * session keys that its wallet has granted, and are the member's only delivery. Members that collude with the ICL get one delivery each.
 */

import { mostAnswers } from '../../lib/agreement-rule.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { ClaimResult, DeliveryToCheck } from '../../lib/schemas/assignments.ts'
import { verifySession } from '../../lib/session-grant.ts'
import { verifySignature } from '../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { JobDeps } from './job-deps.ts'

/** The hash of the delivery that this node looked at, by the address of the deliverer. */
export type Looked = Map<Address, Hash32>

type Deps = Pick<JobDeps, 'address' | 'iclOrigin' | 'chainId'>

/** Checks at no cost that a delivery is one that this node may have to check, and remembers it. Throws SvcError `delivery-untrusted`. */
export async function checkDelivery(
  deps: Deps,
  claim: ClaimResult,
  looked: Looked,
  to_check: DeliveryToCheck,
): Promise<void> {
  const { delivery, answer } = to_check
  const by = answer.body.address
  checkPair(claim, to_check, await statementHash(answer.body))
  if (by === deps.address) throw untrusted("is this node's own")
  checkAnswer(claim, to_check)
  const hash = await statementHash(delivery.body)
  const earlier = looked.get(by)
  if (earlier !== undefined && earlier !== hash) throw untrusted('is the second of its node')
  const mostTurns = Math.min(mostAnswers, claim.list.length) - 1
  if (earlier === undefined && looked.size >= mostTurns) throw untrusted('is one too many')
  await checkSigned(deps, by, answer)
  await checkSigned(deps, by, delivery)
  looked.set(by, hash)
}

/** Checks at no cost that an answer is of another node of this job. Throws SvcError `delivery-untrusted`. */
export async function checkShown(
  deps: Deps,
  claim: ClaimResult,
  answer: DeliveryToCheck['answer'],
): Promise<void> {
  const { address, jobId } = answer.body
  if (address === deps.address) throw untrusted("is this node's own")
  if (jobId !== claim.jobId) throw untrusted('is of another job')
  checkAnswer(claim, { answer })
  await checkSigned(deps, address, answer)
}

/** The delivery and the answer must belong together, because a verdict names both. */
function checkPair(
  { jobId }: ClaimResult,
  { delivery: { body: delivery }, answer: { body: answer } }: DeliveryToCheck,
  answerHash: Hash32,
): void {
  const isPair =
    delivery.answer === answerHash &&
    delivery.address === answer.address &&
    delivery.fence === answer.fence
  if (!isPair) throw untrusted('does not belong to the answer')
  if (delivery.jobId !== jobId || answer.jobId !== jobId) throw untrusted('is of another job')
}

/** The answer must be for this very job, from a node of its list, with evidence that can be compared. */
function checkAnswer(
  claim: ClaimResult,
  { answer: { body } }: Pick<DeliveryToCheck, 'answer'>,
): void {
  const { list, comparator, model_id, parameters } = claim
  const isOfList = list[body.position] === body.address && body.list === listCommitment(claim)
  if (!isOfList) throw untrusted('is of a node that is not on the list')
  const isAsked =
    body.model_id === model_id && body.max_output_tokens === parameters.max_output_tokens
  if (!isAsked) throw untrusted('is of another model')
  const isComparable =
    body.evidence.comparator === comparator &&
    comparators[comparator].malformation(body.evidence) === undefined
  if (!isComparable) throw untrusted('has no evidence that can be compared')
}

async function checkSigned(
  { iclOrigin, chainId }: Deps,
  address: Address,
  { body, signature, session }: DeliveryToCheck['delivery' | 'answer'],
): Promise<void> {
  const { key, not_after: notAfter } = session
  const isSigned = await verifySignature(key, signature, statementBytes(body))
  const grant = { address, key, iclOrigin, chainId, notAfter }
  if (!isSigned || !(await verifySession(grant, session.signature))) {
    throw untrusted('is not signed by its node')
  }
}

export const untrusted = (what: string): SvcError =>
  new SvcError('delivery-untrusted', `the delivery that the ICL gave to look at ${what}`, {
    hint: 'Tell the operator of the ICL.',
  })

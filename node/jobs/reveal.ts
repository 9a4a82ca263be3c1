import { listCommitment } from '../../lib/list-commitment.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { AnswerPost, BatchCommitment } from '../../lib/schemas/statements.ts'
import { seenHash, signed, statementHash } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { acknowledged } from './acknowledged.ts'
import type { Part } from './own.ts'
import { noteSigned } from './signed-before.ts'

/**
 * Opens the commitment once all of its batch have committed: posts the signed answer, the same bytes each time. Returns the next step if
 * the ICL names it.
 */
export async function reveal(
  part: Part,
  commitments: readonly BatchCommitment[] = [],
): Promise<OwnAssignment | undefined> {
  const { deps, claim, own } = part
  own.answer ??= await signAnswer(part, commitments)
  const body = own.answer
  const next = await acknowledged(part, {
    step: 'reveal',
    bodyHash: await statementHash(body),
    post: (query, options) => deps.api.revealAnswer({ query, body }, options),
  })
  own.taken.answer = body
  deps.log.info(`Job ${claim.jobId}: revealed what its answer looks like`)
  return next
}

async function signAnswer(
  { deps, claim, own }: Part,
  commitments: readonly BatchCommitment[],
): Promise<AnswerPost> {
  const { address, sessionKey, journal } = deps
  const { evidence, ended, usage, salt, commitment } = own.committed
  const { jobId, fence } = claim
  // An ICL that leaves this node out could show its evidence to a node that has not committed.
  const isAmong = commitments.some(
    (one) => one.address === address && one.fence === fence && one.commitment === commitment,
  )
  if (!isAmong) throw leftOut()
  const answer = await signed(
    {
      statement: 'svc-answer-v3',
      jobId,
      address,
      fence,
      position: claim.position,
      list: listCommitment(claim),
      model_id: claim.model_id,
      max_output_tokens: claim.parameters.max_output_tokens,
      evidence,
      ended,
      ...(usage && { usage }),
      salt,
      seen: await seenHash(commitments),
    },
    sessionKey,
  )
  // After a restart the node sends these same bytes again.
  noteSigned(journal, { step: 'answer', jobId, fence, answer })
  return answer
}

const leftOut = (): SvcError =>
  new SvcError(
    'commitments-untrusted',
    'the ICL asks for the answer, but its list of commitments lacks that of this node',
    { hint: 'Tell the operator of the ICL. The answer stays hidden.' },
  )

import { listCommitment } from '../../lib/list-commitment.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { AnswerPost } from '../../lib/schemas/statements.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { acknowledged } from './acknowledged.ts'
import type { Part } from './own.ts'
import { noteSigned } from './signed-before.ts'

/** Opens the commitment: posts the signed answer, the same bytes each time. Returns the next step if the ICL names it. */
export async function reveal(part: Part): Promise<OwnAssignment | undefined> {
  const { deps, claim, own } = part
  own.answer ??= await signAnswer(part)
  const body = own.answer
  const next = await acknowledged(part, {
    step: 'reveal',
    bodyHash: await statementHash(body),
    post: (query, options) => deps.api.revealAnswer({ query, body }, options),
  })
  own.taken.answer = body
  deps.log.step(`Job ${claim.jobId}: revealed what its answer looks like`)
  return next
}

async function signAnswer({ deps, claim, own }: Part): Promise<AnswerPost> {
  const { address, sessionKey, journal } = deps
  const { evidence, salt } = own.committed
  const { jobId, fence } = claim
  const answer = await signed(
    {
      statement: 'svc-answer-v2',
      jobId,
      address,
      fence,
      position: claim.position,
      list: listCommitment(claim),
      model_id: claim.model_id,
      max_output_tokens: claim.parameters.max_output_tokens,
      evidence,
      salt,
    },
    sessionKey,
  )
  // After a restart the node sends these same bytes again.
  noteSigned(journal, { step: 'answer', jobId, fence, answer })
  return answer
}

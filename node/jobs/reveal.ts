import { listCommitment } from '../../lib/list-commitment.ts'
import type { ClaimResult, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { AnswerPost } from '../../lib/schemas/statements.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { messages } from '../log-messages.ts'
import { acknowledged, type Sent } from './acknowledged.ts'
import type { JobDeps } from './job-deps.ts'
import type { Own } from './own.ts'
import { noteSigned } from './signed-before.ts'

/** Opens the commitment: posts the signed answer, the same bytes each time. Returns the next step if the ICL names it. */
export async function reveal(
  deps: JobDeps,
  claim: ClaimResult,
  own: Own,
  signal: AbortSignal,
): Promise<OwnAssignment | undefined> {
  own.answer ??= await signAnswer(deps, claim, own)
  const body = own.answer
  const sent = {
    step: 'reveal',
    bodyHash: await statementHash(body),
    post: (query, options) => deps.api.revealAnswer({ query, body }, options),
  } satisfies Sent
  const next = await acknowledged(deps, claim, own, sent, signal)
  own.taken.answer = body
  deps.log.step(messages.revealed(claim.jobId))
  return next
}

async function signAnswer(
  { address, sessionKey, journal }: JobDeps,
  claim: ClaimResult,
  { committed: { evidence, salt } }: Own,
): Promise<AnswerPost> {
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

import { toBase64Url } from '../../lib/digest.ts'
import type { ClaimResult, VerifierVerdict } from '../../lib/schemas/assignments.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signVerdict,
  statementHash,
} from '../../lib/statements.ts'
import type { Commitment } from '../journal/steps.ts'
import { messages } from '../log-messages.ts'
import type { Answer } from './answer.ts'
import { awaitLeader } from './await-leader.ts'
import { callAttempts, type JobDeps } from './job-deps.ts'
import { type Ending, leave } from './job-end.ts'
import { noteSigned } from './signed-before.ts'
import { type Own, verifyResult } from './verify-result.ts'

// When the ICL names no deadline for the verdict.
const revealSeconds = 60

/** A verifier's own answer, bound by a commitment before it may see the leader's. */
export type Committed = Own & Pick<Commitment, 'salt'>

/** Commits to the answer's evidence; the lease ends here and the slot is free (spec 4). */
export async function commit(
  deps: JobDeps,
  claim: ClaimResult,
  { evidence, secrets }: Answer,
  signal: AbortSignal,
): Promise<Committed> {
  const { jobId, fence } = claim
  const salt = toBase64Url(deps.random.bytes(32))
  const commitment = await commitmentOf({ jobId, address: deps.address, fence, evidence, salt })
  deps.journal.note({ step: 'committed', jobId, fence, evidence, salt, commitment })
  await sendCommitment(deps, claim, { commitment }, signal)
  return { evidence, salt, secrets: async () => secrets }
}

/** Sends a commitment; sending the same one again changes nothing. */
export async function sendCommitment(
  { api, log }: JobDeps,
  { jobId, fence }: ClaimResult,
  { commitment }: Pick<Commitment, 'commitment'>,
  signal: AbortSignal,
): Promise<void> {
  await api.commitAssignment(
    { body: { jobId, fence, commitment } },
    { signal, attempts: callAttempts },
  )
  log.info(messages.committed(jobId))
}

/** Waits for the leader's result, compares, and posts the verdict (spec 4); a job that ends meanwhile is left quietly. */
export async function reveal(
  deps: JobDeps,
  claim: ClaimResult,
  own: Committed,
  signal: AbortSignal,
): Promise<Ending> {
  const { jobId, fence } = claim
  const found = await awaitLeader(deps, claim, signal)
  if ('over' in found) return leave(deps, claim, found.over)
  const { address: leader, ...body } = found.statement
  const secondsLeft = found.secondsLeft ?? revealSeconds
  const { verdict, reason } = await verifyResult(deps, claim, own, body, secondsLeft, signal)
  const signed = await signVerdict(
    deps.address,
    {
      jobId,
      fence,
      model_id: claim.model_id,
      max_output_tokens: claim.parameters.max_output_tokens,
      verdict,
      ...(reason !== undefined && { reason }),
      evidence: own.evidence,
      salt: own.salt,
      leader_statement: await statementHash(leaderStatementOf(leader, body)),
    },
    deps.sessionKey,
  )
  // From here on a restart sends these very bytes again.
  noteSigned(deps.journal, { step: 'verdict', jobId, fence, verdict: signed })
  return await deliverVerdict(deps, signed, signal)
}

/** Posts a signed verdict; sending the same one again changes nothing. */
export async function deliverVerdict(
  { api, log }: JobDeps,
  signed: VerifierVerdict,
  signal: AbortSignal,
): Promise<Ending> {
  const { jobId, verdict, reason } = signed
  await api.postVerdict({ body: signed }, { signal, attempts: callAttempts })
  log.info(messages.verdict(jobId, verdict, reason))
  return { outcome: verdict, ...(reason !== undefined && { reason }) }
}

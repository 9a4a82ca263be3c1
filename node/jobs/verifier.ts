import { toBase64Url } from '../../lib/digest.ts'
import type { ClaimResult } from '../../lib/schemas/tasks.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signVerdict,
  statementHash,
} from '../../lib/statements.ts'
import { messages } from '../log-messages.ts'
import type { Answer } from './answer.ts'
import { awaitLeader } from './await-leader.ts'
import { callAttempts, type JobDeps } from './job-deps.ts'
import { judge } from './judge.ts'

// When the ICL names no deadline for the verdict.
const revealSeconds = 60

/** A verifier's own answer, bound by a commitment before it may see the leader's. */
export type Committed = { readonly answer: Answer; readonly salt: string }

/** Commits to the answer's evidence; the lease ends here and the slot is free (spec 4). */
export async function commit(
  deps: JobDeps,
  { jobId, fence }: ClaimResult,
  answer: Answer,
  signal: AbortSignal,
): Promise<Committed> {
  const salt = toBase64Url(deps.random.bytes(32))
  const { evidence } = answer
  const commitment = await commitmentOf({ jobId, address: deps.address, fence, evidence, salt })
  await deps.api.commitTask(
    { body: { jobId, fence, commitment } },
    { signal, attempts: callAttempts },
  )
  deps.log.info(messages.committed(jobId))
  return { answer, salt }
}

/** Waits for the leader's result, compares, and posts the verdict (spec 4); a job that ends meanwhile is left quietly. */
export async function reveal(
  deps: JobDeps,
  claim: ClaimResult,
  { answer, salt }: Committed,
  signal: AbortSignal,
): Promise<void> {
  const { jobId, fence } = claim
  const found = await awaitLeader(deps, claim, signal)
  if ('over' in found) {
    deps.log.warning(messages.stopped(jobId, found.over))
    return
  }
  const { address: leader, ...body } = found.statement
  const secondsLeft = found.secondsLeft ?? revealSeconds
  const { verdict, reason } = await judge(deps, claim, answer, body, secondsLeft, signal)
  const signed = await signVerdict(
    deps.address,
    {
      jobId,
      fence,
      model_id: claim.model_id,
      max_output_tokens: claim.parameters.max_output_tokens,
      verdict,
      ...(reason !== undefined && { reason }),
      evidence: answer.evidence,
      salt,
      leader_statement: await statementHash(leaderStatementOf(leader, body)),
    },
    deps.sessionKey,
  )
  await deps.api.postVerdict({ body: signed }, { signal, attempts: callAttempts })
  deps.log.info(messages.verdict(jobId, verdict, reason))
}

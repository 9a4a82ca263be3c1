import { elapsedSince } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AssignmentOffer, ClaimResult } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Usage } from '../inference/provider.ts'
import { messages } from '../log-messages.ts'
import { isGone } from './abort-reason.ts'
import { afterCommit } from './after-commit.ts'
import { keyHandlesMissing, produceAnswer } from './answer.ts'
import { bindTo, commit } from './commit.ts'
import type { JobDeps, JobSteps } from './job-deps.ts'
import type { Ending } from './job-end.ts'
import { leaseOf, longestAwayMs } from './lease.ts'

/** Claims an assignment, answers it, commits, frees the slot and takes the later steps. */
export async function workOn(
  deps: JobDeps,
  assignment: Pick<AssignmentOffer, 'jobId' | 'fence' | 'model_id'>,
  signal: AbortSignal,
  steps: JobSteps & { readonly onUsage: (usage: Usage) => void },
): Promise<Ending> {
  const { jobId, fence } = assignment
  const { onUsage } = steps
  deps.budget.check(jobId)
  const claim = await claimJob(deps, assignment, signal).finally(steps.onClaimed)
  // The node signs for the claim's assignment, which must be the one that it looked up in the journal.
  if (claim.jobId !== jobId || claim.fence !== fence) {
    throw keyHandlesMissing('the ICL returned another assignment for the claim')
  }
  if (claim.kpHighHandle === 0n || claim.kpLowHandle === 0n) {
    throw keyHandlesMissing('the claim gave empty handles')
  }
  deps.log.info(`Job ${jobId}: claimed`)
  deps.journal.note({ step: 'claimed', jobId, fence, claim })
  const withinLease = leaseOf(deps, claim, claim.claimDeadline - claim.server_time)
  const own = await withinLease(signal, async (leased, leftMs) =>
    bindTo(deps, claim, await produceAnswer(deps, claim, leased, { leftMs, onUsage }), onUsage),
  )
  // The ICL may hold its response to the commitment until the others have committed, too.
  steps.onSlotFree()
  const part = { deps, claim, own, signal }
  return await afterCommit(part, await commit(part))
}

const claimAgainMs = 2_000

async function claimJob(
  { api, speeds, clock, log }: JobDeps,
  { jobId, fence, model_id }: Pick<AssignmentOffer, 'jobId' | 'fence' | 'model_id'>,
  signal: AbortSignal,
): Promise<ClaimResult> {
  const beganAt = clock.monotonic()
  const speed = speeds.of(model_id)
  for (;;) {
    try {
      return await api.claimAssignment(
        { body: { jobId, fence, ...(speed !== undefined && { ms_per_token: speed }) } },
        { signal, attempts: 3, timeoutMs: 5_000 },
      )
    } catch (error) {
      signal.throwIfAborted()
      if (isGone(error)) throw error
      log.warning(messages.claimFailed(jobId, errorText(error)))
      // An ICL or a database that went away may have saved the claim. Claiming again is idempotent.
      const isAway =
        error instanceof ProblemError
          ? error.code === 'unavailable'
          : error instanceof SvcError && error.retryable
      if (!isAway || elapsedSince(clock, beganAt) > longestAwayMs) {
        throw keyHandlesMissing('the claim failed', error)
      }
    }
    await clock.sleep(claimAgainMs, signal)
  }
}

import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Assignment, ClaimResult } from '../../lib/schemas/tasks.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { errorText } from '../explain-error.ts'
import { messages } from '../log-messages.ts'
import { abortReasonOf, isGone } from './abort-reason.ts'
import { keyHandlesMissing, produceAnswer } from './answer.ts'
import type { JobDeps } from './job-deps.ts'
import { lead } from './leader.ts'
import { type Committed, commit, reveal } from './verifier.ts'

// The ICL has to hear of a job given back before it takes it away itself.
const reserveMs = 2_000
const abortCallMs = 4_000
// A verifier waits for a leader at most as long as a job may last.
const longestWaitMs = 3_600_000

/** How a job speaks to whoever started it. */
export type JobSteps = {
  /** The claim was answered, well or badly. */
  readonly onClaimed: () => void
  /** The job holds no slot any more, though it may go on. */
  readonly onSlotFree: () => void
}

/** The reason with which the daemon ends its jobs when it stops. */
export const nodeStopping = (): SvcError =>
  new SvcError('node-stopping', 'the node is stopping', {
    hint: 'Start it again with `svc-node run`.',
  })

/** Runs one assignment to its end (spec 3.3); never rejects: a failure gives the assignment back and is logged. */
export async function runJob(
  deps: JobDeps,
  assignment: Assignment,
  signal: AbortSignal,
  steps: JobSteps,
): Promise<void> {
  const { jobId, role, fence } = assignment
  const { log, clock } = deps
  log.info(messages.jobStarting(jobId, role))
  try {
    const claim = await claimJob(deps, assignment, signal).finally(steps.onClaimed)
    log.info(messages.claimed(jobId))
    const work = (leased: AbortSignal) => workOn(deps, claim, leased)
    const committed = await withinLease(clock, claim, signal, work)
    steps.onSlotFree()
    if (committed === undefined) return
    const late = () => new SvcError('node-failed', 'no leader answered', { hint: 'Nothing to do.' })
    await withDeadline(clock, longestWaitMs, signal, late, (ended) =>
      reveal(deps, claim, committed, ended),
    )
  } catch (error) {
    if (isGone(error)) log.warning(messages.stopped(jobId, errorText(error)))
    else await giveBack(deps, { jobId, fence }, signal.aborted ? signal.reason : error)
  }
}

/** The leader's whole part, or a verifier's up to its commitment. */
async function workOn(
  deps: JobDeps,
  claim: ClaimResult,
  signal: AbortSignal,
): Promise<Committed | undefined> {
  if (claim.role === 'verifier') {
    return await commit(deps, claim, await produceAnswer(deps, claim, signal), signal)
  }
  await lead(deps, claim, signal)
  return undefined
}

async function claimJob(
  { api, log }: JobDeps,
  { jobId, fence }: Assignment,
  signal: AbortSignal,
): Promise<ClaimResult> {
  try {
    return await api.claimTask(
      { body: { jobId, fence } },
      { signal, attempts: 3, timeoutMs: 5_000 },
    )
  } catch (error) {
    signal.throwIfAborted()
    if (isGone(error)) throw error
    log.warning(messages.claimFailed(jobId, errorText(error)))
    throw keyHandlesMissing('the claim failed', error)
  }
}

function withinLease<T>(
  clock: Clock,
  { claimDeadline, server_time: serverTime }: ClaimResult,
  signal: AbortSignal,
  body: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = () =>
    new SvcError('deadline-too-close', 'the claim deadline came before the work was done', {
      hint: 'A faster model or fewer concurrent jobs would help.',
    })
  const leaseMs = (claimDeadline - serverTime) * 1000 - reserveMs
  if (leaseMs <= 0) throw late()
  return withDeadline(clock, leaseMs, signal, late, body)
}

async function giveBack(
  { api, log }: JobDeps,
  place: Pick<Assignment, 'jobId' | 'fence'>,
  error: unknown,
): Promise<void> {
  const { jobId } = place
  log.error(messages.aborted(jobId, errorText(error)))
  try {
    // The job's own signal may have ended the job: this call has to be made all the same.
    await api.abortTask(
      { body: { ...place, reason: abortReasonOf(error) } },
      { attempts: 2, timeoutMs: abortCallMs },
    )
  } catch (problem) {
    if (!isGone(problem)) log.warning(messages.abortNotSent(jobId, errorText(problem)))
  }
}

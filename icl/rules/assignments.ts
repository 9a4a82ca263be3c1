import type { AbortReason, AssignmentReason } from '../../lib/schemas/jobs.ts'
import type { Finding } from './commands.ts'
import { scoring } from './effects.ts'
import {
  type Assignment,
  assignmentOf,
  type Change,
  changeTo,
  isSettled,
  type Job,
  type Moment,
  recorded,
  refuse,
  type Transition,
  withAssignment,
} from './job.ts'
import { leaseEnd } from './lease.ts'
import { awaitsGrant } from './seats.ts'
import { settle } from './settle.ts'

/** Applies what was found about a node whose assignment is not offered yet. */
export function applyFinding(job: Job, finding: Finding, { now, limits }: Moment): Transition {
  const assignment = assignmentOf(job, finding.node)
  // The finding is too late: the job has ended, or the node has an offer or a newer assignment.
  if (
    isSettled(job.phase) ||
    assignment?.fence !== finding.fence ||
    assignment.status !== 'awaiting-grant'
  ) {
    return changeTo(job)
  }
  const granted = (event: string, change: Partial<Assignment>) => {
    const next = withoutGrantReason(withAssignment(job, assignment.fence, change))
    return changeTo(recorded(next, now, event, { assignment }))
  }
  switch (finding.type) {
    case 'see-access':
      return granted('offered', { status: 'offered', deadline: now + limits.offerMs })
    case 'find-busy':
      // After `slotWaitMs` another node may take the seat.
      return assignment.deadline === undefined
        ? granted('node-busy', { deadline: now + limits.slotWaitMs })
        : changeTo(job)
    case 'miss-access':
      return missAccess(job, assignment, now)
    case 'refuse-access':
      return changeTo(vacated(job, assignment, 'aborted', 'grant-refused', now))
    case 'find-gone':
      return unoffered(job, assignment, 'node-left', now)
    case 'find-ended':
      // The seat can never be filled.
      return settle(job, 'expired', 'list-ended', now)
    case 'find-other-list':
      return settle(job, 'expired', 'list-differs', now)
  }
}

/** Clears the reason `awaiting-grant`, unless another assignment of the job still waits for a grant. */
const withoutGrantReason = (job: Job): Job =>
  job.reason === 'awaiting-grant' && !awaitsGrant(job) ? { ...job, reason: undefined } : job

/** The job waits for a grant that only the client can give. Of two such reasons to wait the first stays until it has passed. */
function missAccess(job: Job, assignment: Assignment, now: number): Change {
  if (job.reason === 'awaiting-grant' || job.reason === 'not-enough-nodes') return changeTo(job)
  const waiting: Job = { ...job, reason: 'awaiting-grant' }
  return changeTo(recorded(waiting, now, 'awaiting-grant', { assignment }))
}

/** Gives the node a lease until the claim deadline. Claiming again changes nothing. */
export function claim(
  job: Job,
  assignment: Assignment,
  msPerToken: number | undefined,
  moment: Moment,
): Transition {
  const { status, fence } = assignment
  if (status === 'claimed' || status === 'committed') return changeTo(job)
  if (status !== 'offered') return refuse('not-claimed', `The assignment is ${status}`)
  const { now } = moment
  const lease = { claimedAt: now, deadline: leaseEnd(job, msPerToken, moment) }
  const claimed = withAssignment(job, fence, {
    status: 'claimed',
    ...lease,
    ...(msPerToken !== undefined && { msPerToken }),
  })
  const phase = job.phase === 'open' ? 'running' : job.phase
  return changeTo(recorded({ ...claimed, phase }, now, 'claimed', { assignment }))
}

/**
 * The node gives its assignment back, and the job looks for another node at once. A node that owes its reveal is scored as if it had let
 * the time pass. A revealed answer stays.
 */
export function abort(
  job: Job,
  assignment: Assignment,
  {
    reason,
    retryAfter,
  }: { readonly reason: AbortReason; readonly retryAfter?: number | undefined },
  now: number,
): Transition {
  if (assignment.status === 'revealed') return changeTo(job)
  if (assignment.status === 'committed' && assignment.deadline !== undefined)
    return neverRevealed(job, assignment, now)
  const returnAt = retryAfter === undefined ? undefined : now + retryAfter * 1000
  return changeTo(
    vacated(
      withAssignment(job, assignment.fence, { returnAt }),
      assignment,
      'aborted',
      reason,
      now,
    ),
  )
}

/** Scores a node that could reveal its answer and did not, and empties its seat. */
export const neverRevealed = (job: Job, assignment: Assignment, now: number): Change =>
  changeTo(vacated(job, assignment, 'lapsed', 'never-revealed', now), [
    scoring(assignment, 'never-revealed'),
  ])

/**
 * Empties the seat of a node that is away or stays full before its offer. Only the leader is scored, as if it had let the offer pass: it
 * knows that it would deliver, which costs gas. One that was busy when it was seated, or comes again, is not.
 */
export const unoffered = (
  job: Job,
  assignment: Assignment,
  reason: 'node-busy' | 'node-left',
  now: number,
): Change =>
  changeTo(
    vacated(job, assignment, 'aborted', reason, now),
    isFirstLeader(job, assignment) ? [scoring(assignment, 'offer-lapsed')] : [],
  )

const isFirstLeader = ({ assignments, passed }: Job, { fence, position }: Assignment): boolean =>
  assignments[0]?.fence === fence &&
  !passed.some((one) => one.position === position && one.reason === 'busy')

/** The job with an assignment ended and its seat empty. */
export function vacated(
  job: Job,
  assignment: Assignment,
  status: 'aborted' | 'lapsed',
  reason: AssignmentReason,
  now: number,
): Job {
  const change = { status, reason, endedAt: now, deadline: undefined }
  const ended = withAssignment(job, assignment.fence, change)
  return recorded({ ...ended, fillAt: now }, now, status, { assignment, detail: reason })
}

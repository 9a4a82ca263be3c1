import type { AbortReason, AssignmentReason } from '../../lib/schemas/jobs.ts'
import {
  type Assignment,
  type Change,
  type Job,
  type JobLimits,
  recorded,
  type Transition,
  withAssignment,
} from './job.ts'
import { awaitsGrant } from './seats.ts'
import { settle } from './settle.ts'

/** Offers the assignment: its node can read the keys now. */
export function seeAccess(
  job: Job,
  assignment: Assignment,
  now: number,
  limits: JobLimits,
): Transition {
  if (assignment.status !== 'awaiting-grant') return { job, effects: [] }
  const offered = withAssignment(job, assignment.fence, {
    status: 'offered',
    deadline: now + limits.offerMs,
  })
  return { job: recorded(withoutGrantReason(offered), now, 'offered', { assignment }), effects: [] }
}

/** The node can read the keys but has no free slot. After `slotWaitMs` another node may take the seat. */
export function findBusy(
  job: Job,
  assignment: Assignment,
  now: number,
  limits: JobLimits,
): Transition {
  if (assignment.status !== 'awaiting-grant' || assignment.deadline !== undefined)
    return { job, effects: [] }
  const waiting = withAssignment(job, assignment.fence, { deadline: now + limits.slotWaitMs })
  return {
    job: recorded(withoutGrantReason(waiting), now, 'node-busy', { assignment }),
    effects: [],
  }
}

/** Clears the reason `awaiting-grant`, unless another assignment of the job still waits for a grant. */
const withoutGrantReason = (job: Job): Job =>
  job.reason === 'awaiting-grant' && !awaitsGrant(job) ? { ...job, reason: undefined } : job

/** True when the job already shows what it waits for. Of two such reasons the first stays until it has passed. */
const waitsForOthers = ({ reason }: Job): boolean =>
  reason === 'awaiting-grant' || reason === 'not-enough-nodes'

/** The job waits for a grant that only the client can give. */
export function missAccess(job: Job, assignment: Assignment, now: number): Transition {
  if (assignment.status !== 'awaiting-grant' || waitsForOthers(job)) return { job, effects: [] }
  const waiting: Job = { ...job, reason: 'awaiting-grant' }
  return { job: recorded(waiting, now, 'awaiting-grant', { assignment }), effects: [] }
}

/**
 * Gives the node a lease until the claim deadline. Claiming again changes nothing. A claim by a poll gets only the time of an offer,
 * because the answer to the poll may be lost. The node's own call to claim then turns it into a lease.
 */
export function claim(
  job: Job,
  assignment: Assignment,
  poll: string | undefined,
  now: number,
  limits: JobLimits,
): Transition {
  const { status, fence } = assignment
  const isFirst = status === 'claimed' && assignment.poll !== undefined
  if (status === 'committed' || (status === 'claimed' && !(isFirst && poll === undefined)))
    return { job, effects: [] }
  if (status !== 'offered' && !isFirst) {
    return { refused: 'not-claimed', detail: `The assignment is ${status}` }
  }
  const ms = poll === undefined ? limits.leaseMs : limits.offerMs
  const deadline = Math.min(now + ms, job.deadline)
  const claimed = withAssignment(job, fence, { status: 'claimed', deadline, poll })
  if (isFirst) return { job: claimed, effects: [] }
  const phase = job.phase === 'open' ? 'running' : job.phase
  return { job: recorded({ ...claimed, phase }, now, 'claimed', { assignment }), effects: [] }
}

/**
 * The node gives its assignment back, and the job looks for another node at once. A node that owes its reveal is scored as if it had let
 * the time pass. A revealed answer stays.
 */
export function abort(
  job: Job,
  assignment: Assignment,
  reason: AbortReason,
  now: number,
): Transition {
  if (assignment.status === 'revealed') return { job, effects: [] }
  if (assignment.status === 'committed' && assignment.deadline !== undefined)
    return neverRevealed(job, assignment, now)
  return { job: vacated(job, assignment, 'aborted', reason, now), effects: [] }
}

/** Scores a node that could reveal its answer and did not, and empties its seat. */
export function neverRevealed(job: Job, assignment: Assignment, now: number): Change {
  const { node, fence } = assignment
  return {
    job: vacated(job, assignment, 'lapsed', 'never-revealed', now),
    effects: [{ type: 'score-node', node, fence, code: 'never-revealed' }],
  }
}

/** The chain refuses to let the node read the keys. The job looks for another node. */
export function refuseAccess(job: Job, assignment: Assignment, now: number): Transition {
  if (assignment.status !== 'awaiting-grant') return { job, effects: [] }
  return { job: vacated(job, assignment, 'aborted', 'grant-refused', now), effects: [] }
}

/** The node left before it had an offer. The job looks for another node, and nobody is scored. */
export function findGone(job: Job, assignment: Assignment, now: number): Transition {
  if (assignment.status !== 'awaiting-grant') return { job, effects: [] }
  return { job: vacated(job, assignment, 'aborted', 'node-left', now), effects: [] }
}

/** Settles the job as expired: the chain lets no further node read the prompt key, so the seat can never be filled. */
export function findEnded(job: Job, assignment: Assignment, now: number): Transition {
  if (assignment.status !== 'awaiting-grant') return { job, effects: [] }
  return settle(job, 'expired', 'list-ended', now)
}

/** The job with an assignment ended and its seat empty. */
export function vacated(
  job: Job,
  assignment: Assignment,
  status: 'aborted' | 'lapsed',
  reason: AssignmentReason,
  now: number,
): Job {
  const ended = withAssignment(job, assignment.fence, {
    status,
    reason,
    endedAt: now,
    deadline: undefined,
  })
  return recorded({ ...ended, fillAt: now }, now, status, { assignment, detail: reason })
}

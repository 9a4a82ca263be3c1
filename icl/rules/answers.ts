/*
 * Problem: an answer counts only if its node gave it without knowing the others' answers.
 *
 * Idea: each node first commits to its evidence by a hash. It reveals once all seats of its batch have committed. When every
 * seat has an answer, the answers are compared.
 *
 * Invariants:
 * - A node reveals exactly what it committed to. It never commits twice in the same job.
 * - The time to reveal starts for a whole batch at once. It starts separately only for a node that took a seat later.
 * - A revealed answer stays: it cannot be withdrawn, and its seat is never filled again.
 *
 * Failure cases: a node that does not reveal in time loses its seat and is scored. It may still reveal while no other node
 * has taken the seat, because a short network failure must not cost a pool of three its job.
 */

import type { Hash32 } from '../../lib/codecs.ts'
import { decided } from './agreement.ts'
import { withFault } from './faults.ts'
import {
  type Assignment,
  type Job,
  type JobLimits,
  recorded,
  type Transition,
  withAssignment,
} from './job.ts'
import type { PostedAnswer } from './posted.ts'
import { assignmentAt, currentAssignments, emptySeats, seatCount } from './seats.ts'

/** Stores the node's commitment, which ends its lease. The last commitment of a batch starts the time to reveal. */
export function commit(
  job: Job,
  assignment: Assignment,
  commitment: Hash32,
  now: number,
  limits: JobLimits,
): Transition {
  if (assignment.commitment !== undefined) {
    return assignment.commitment === commitment
      ? { job, effects: [] }
      : { refused: 'already-committed', detail: 'The assignment has another commitment' }
  }
  if (assignment.status !== 'claimed') {
    return { refused: 'not-claimed', detail: `The assignment is ${assignment.status}` }
  }
  const committed = withAssignment(job, assignment.fence, {
    status: 'committed',
    commitment,
    committedAt: now,
    deadline: undefined,
  })
  return {
    job: opened(recorded(committed, now, 'committed', { assignment }), now, limits),
    effects: [],
  }
}

/** The job with the time to reveal running, if every seat has committed or revealed. */
function opened(job: Job, now: number, limits: JobLimits): Job {
  const seated = currentAssignments(job)
  const isBound = ({ status }: Assignment) => status === 'committed' || status === 'revealed'
  if (seated.length < seatCount(job) || !seated.every(isBound)) return job
  const assignments = job.assignments.map((assignment) =>
    assignment.status === 'committed' && assignment.deadline === undefined
      ? { ...assignment, deadline: now + limits.revealMs }
      : assignment,
  )
  return {
    ...job,
    assignments,
    firstCommitted: job.firstCommitted ?? { nextFence: job.nextFence, passed: job.passed },
  }
}

/** An answer, and the commitment computed from its evidence and salt. */
type Opening = { readonly answer: PostedAnswer; readonly commitment: Hash32 }

/** Stores the answer that the node committed to. The last answer of a batch leads to the decision whether the answers agree. */
export function reveal(
  job: Job,
  assignment: Assignment,
  { answer, commitment }: Opening,
  now: number,
  limits: JobLimits,
): Transition {
  if (assignment.answer !== undefined) {
    return assignment.answer.hash === answer.hash
      ? { job, effects: [] }
      : {
          refused: 'already-answered',
          detail: 'The node gave another answer for this fence before',
          noted: contradicting(job, assignment, [assignment.answer, answer], now),
        }
  }
  if (assignment.status !== 'committed' && !mayStillReveal(job, assignment)) {
    return { refused: 'not-committed', detail: `The assignment is ${assignment.status}` }
  }
  if (assignment.status === 'committed' && assignment.deadline === undefined) {
    return { refused: 'too-early', detail: 'Not all nodes of the batch have committed' }
  }
  if (commitment !== assignment.commitment) {
    return { refused: 'commitment-mismatch', detail: 'Evidence and salt make another commitment' }
  }
  const revealed = withAssignment(job, assignment.fence, {
    status: 'revealed',
    answer,
    revealedAt: now,
    deadline: undefined,
    // A late reveal takes its lapsed seat back.
    endedAt: undefined,
    reason: undefined,
  })
  const seated: Job =
    emptySeats(revealed).length > 0 || job.reason !== 'not-enough-nodes'
      ? revealed
      : { ...revealed, reason: undefined }
  return decided(recorded(seated, now, 'revealed', { assignment }), now, limits)
}

/** True for a node that did not reveal in time, while no other node has its seat. */
export const mayStillReveal = (job: Job, assignment: Assignment): boolean =>
  assignment.status === 'lapsed' &&
  assignment.reason === 'never-revealed' &&
  job.agreement === undefined &&
  assignmentAt(job, assignment.seat)?.fence === assignment.fence

const contradicting = (
  job: Job,
  assignment: Assignment,
  [first, second]: readonly [PostedAnswer, PostedAnswer],
  now: number,
) =>
  first.session.key === second.session.key
    ? withFault(job, assignment, 'equivocated', [first, second], now)
    : undefined

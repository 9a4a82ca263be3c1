/*
 * Problem: an answer counts only if its node gave it without knowing the others' answers.
 *
 * Idea: each node first commits to its evidence by a hash. Once all seats have committed, the nodes of the batch get its
 * commitments. Each reveals if its own is among them, and signs that it saw them. When every seat has an answer, the
 * answers are compared.
 *
 * Invariants:
 * - A node reveals exactly what it committed to. It never commits twice in the same job.
 * - The time to reveal starts for a whole batch at once. A node that takes a seat later is of a later batch.
 * - A revealed answer stays, and its seat is never filled again.
 *
 * Failure cases: a node that does not reveal in time loses its seat and is scored. It may still reveal while no other node
 * has taken the seat, because a short network failure must not cost a pool of three its job.
 */
import type { Hash32 } from '../../lib/codecs.ts'
import { decided } from './agreement.ts'
import { repeated } from './faults.ts'
import {
  type Assignment,
  changeTo,
  isRevealing,
  type Job,
  type Moment,
  recorded,
  refuse,
  type Transition,
  withAssignment,
} from './job.ts'
import type { PostedAnswer } from './posted.ts'
import { currentAssignments, emptySeats, mayStillReveal } from './seats.ts'

/** Stores the node's commitment, which ends its lease. The last commitment of a batch starts the time to reveal. */
export function commit(
  job: Job,
  assignment: Assignment,
  commitment: Hash32,
  moment: Moment,
): Transition {
  const { status, fence, commitment: earlier } = assignment
  if (earlier === commitment) return changeTo(job)
  if (earlier) return refuse('already-committed', 'The assignment has another commitment')
  if (status !== 'claimed') return refuse('not-claimed', `The assignment is ${status}`)
  const { now } = moment
  const change = { status: 'committed', commitment, committedAt: now, deadline: undefined } as const
  const committed = withAssignment(job, fence, change)
  return changeTo(opened(recorded(committed, now, 'committed', { assignment }), moment))
}

/** The job with the time to reveal running for the next batch, if every seat has committed, and all of earlier batches have revealed. */
function opened(job: Job, { now, limits }: Moment): Job {
  const seated = currentAssignments(job)
  const isBound = (one: Assignment) =>
    one.status === 'revealed' || (one.status === 'committed' && !isRevealing(one))
  if (seated.length < job.seats || !seated.every(isBound)) return job
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
  moment: Moment,
): Transition {
  const { now } = moment
  if (assignment.answer) return repeated(job, assignment, assignment.answer, answer, now)
  if (assignment.status !== 'committed' && !mayStillReveal(job, assignment)) {
    return refuse('not-committed', `The assignment is ${assignment.status}`)
  }
  if (assignment.status === 'committed' && assignment.deadline === undefined) {
    return refuse('too-early', 'Not all nodes of the batch have committed')
  }
  if (commitment !== assignment.commitment) {
    return refuse('commitment-mismatch', 'Evidence and salt make another commitment')
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
  return decided(opened(recorded(seated, now, 'revealed', { assignment }), moment), moment)
}

import { type Assignment, isSettled, type Job } from './job.ts'

/**
 * The job as shown to everybody but its nodes. Until it has settled, it does not reveal whether answers agree: a node of the client's could
 * act on it. Seats that were filled after all of the quorum had
 * committed are left out, because most of them exist only where answers differ.
 */
export function shownJob(job: Job): Job {
  if (isSettled(job.phase)) return job
  const { agreement: _, weighing: __, faults: ___, firstCommitted, heldFrom, ...rest } = job
  const seated = firstCommitted
    ? job.assignments.filter(({ fence }) => fence < firstCommitted.nextFence)
    : job.assignments
  return {
    ...rest,
    // Hidden after the first commitments, because a seat may be empty then on account of the answers.
    reason: firstCommitted ? undefined : job.reason,
    seats: job.list.terms.quorum,
    assignments: seated.map(shownAssignment),
    passed: firstCommitted?.passed ?? job.passed,
    events: heldFrom === undefined ? job.events : job.events.filter(({ seq }) => seq < heldFrom),
    outbox: firstCommitted ? [] : job.outbox,
  }
}

/** An assignment of a running job. From its claim on it looks the same, whatever its node says. */
function shownAssignment(assignment: Assignment): Assignment {
  const { commitment, committedAt, answer, revealedAt, scores, ...rest } = assignment
  const { status, reason } = rest
  const isAtWork =
    status === 'claimed' ||
    status === 'committed' ||
    status === 'revealed' ||
    reason === 'never-revealed'
  if (!isAtWork) return rest
  const { endedAt: _, reason: __, deadline: ___, ...claimed } = rest
  return { ...claimed, status: 'claimed' }
}

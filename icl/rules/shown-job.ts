import { type Assignment, isSettled, type Job } from './job.ts'

/**
 * The job as anybody but its nodes may see it. Until it has settled that says nothing of whether answers agree: otherwise a
 * client could cancel at the sight of a verdict, so that only ends of its choice are scored. Seats that were filled after the
 * first result are left out, because most of them exist only where verdicts differ.
 */
export function shownJob(job: Job): Job {
  if (isSettled(job.phase)) return job
  const { result: _, rounds: __, faults: ___, firstResult, heldFrom, ...rest } = job
  const seated = firstResult
    ? job.assignments.filter(({ fence }) => fence < firstResult.nextFence)
    : job.assignments
  return {
    ...rest,
    reason:
      job.reason === 'awaiting-grant' || job.reason === 'not-enough-nodes' ? job.reason : undefined,
    round: 0,
    seats: 1 + job.verifierCount,
    assignments: seated.map(shownAssignment),
    passed: firstResult?.passed ?? job.passed,
    events: heldFrom === undefined ? job.events : job.events.filter(({ seq }) => seq < heldFrom),
    outbox: firstResult ? [] : job.outbox,
  }
}

/** An assignment of a running job: from its claim on, how it is and was is the same whatever its node says. */
function shownAssignment(assignment: Assignment): Assignment {
  const { commitment: _, verdict: __, scores: ___, ...rest } = assignment
  const isAtWork =
    rest.status === 'claimed' ||
    rest.status === 'committed' ||
    rest.status === 'done' ||
    rest.reason === 'verdict-refuted'
  if (!isAtWork) return rest
  const { endedAt: ____, reason: _____, deadline: ______, ...claimed } = rest
  return { ...claimed, status: 'claimed' }
}

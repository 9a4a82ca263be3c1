import type { JobPhase, JobReason } from '../../lib/schemas/jobs.ts'
import { currentTurn } from './agreed.ts'
import type { Effect } from './effects.ts'
import {
  type Change,
  changeTo,
  isSettled,
  type Job,
  recorded,
  refuse,
  type Transition,
} from './job.ts'
import { scoresOf } from './scores.ts'
import { noticesOf } from './webhook.ts'

/** Settles a job for good. Only here the answers of a job score their nodes. */
export function settle(job: Job, phase: JobPhase, reason: JobReason, now: number): Change {
  // After an outage an acceptance may come long after the deadline. The session keys of its statements last only up to the deadline.
  const settledAt = phase === 'accepted' ? Math.min(now, job.deadline) : now
  const settled: Job = { ...job, phase, reason, settledAt }
  if (!isSettled(phase)) throw new TypeError(`${phase} does not settle a job`)
  const commit: readonly Effect[] = phase === 'accepted' ? [{ type: 'commit-result' }] : []
  const effects = [...scoresOf(settled), ...commit, ...noticesOf(settled)]
  return changeTo(recorded(settled, now, phase, { detail: reason }), effects)
}

/** Accepts a job whose delivery has settled, once its answers are weighed. Otherwise the job stays as it is. */
export const acceptedWhenDone = (job: Job, now: number): Change =>
  currentTurn(job)?.settled && (job.weighing === undefined || job.weighing.step === 'over')
    ? settle(job, 'accepted', 'quorum-agreed', now)
    : changeTo(job)

/**
 * Cancels for the client, before a node has committed. A later cancellation would let the client burn the inferences of honest nodes, and
 * choose by what it sees of the answers whether they count.
 */
export function cancel(job: Job, now: number): Transition {
  if (job.phase === 'cancelled') return changeTo(job)
  if (isSettled(job.phase)) return refuse('job-settled', `The job is already ${job.phase}`)
  if (job.assignments.some(({ commitment }) => commitment !== undefined))
    return refuse('too-late-to-cancel', 'It ends by itself')
  return settle(job, 'cancelled', 'cancelled-by-client', now)
}

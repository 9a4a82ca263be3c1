import type { JobPhase, JobReason } from '../../lib/schemas/jobs.ts'
import { currentTurn } from './agreed.ts'
import type { Effect } from './effects.ts'
import {
  afterwards,
  type Change,
  changeTo,
  isSettled,
  type Job,
  recorded,
  refuse,
  type Transition,
} from './job.ts'
import { scoresOf } from './scores.ts'
import { timedAssignments } from './seats.ts'
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

/**
 * Cancels for the client. The job ends at once, unless the answers of a batch are being revealed: these are still collected and score their
 * nodes, so that nobody can choose by a revealed answer whether it counts. No more nodes are seated.
 */
export function cancel(job: Job, now: number): Transition {
  if (job.phase === 'cancelled' || job.cancelledAt !== undefined) return changeTo(job)
  if (isSettled(job.phase)) return refuse('job-settled', `The job is already ${job.phase}`)
  // The delivery is settled. The job waits only for numbers, which decide nothing.
  if (currentTurn(job)?.opening) return settle(job, 'accepted', 'quorum-agreed', now)
  return changeTo({ ...job, cancelledAt: now })
}

/** Settles a job that the client has cancelled, once no answer is being revealed any more. Returns other changes as they are. */
export function concluded(change: Change, now: number): Change {
  const { job } = change
  const isCancelled = job.cancelledAt !== undefined && !isSettled(job.phase)
  if (!isCancelled || timedAssignments(job).length > 0) return change
  return afterwards(change, () => settle(job, 'cancelled', 'cancelled-by-client', now))
}

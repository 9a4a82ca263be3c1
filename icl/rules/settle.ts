import type { JobPhase, JobReason } from '../../lib/schemas/jobs.ts'
import { currentTurn } from './agreed.ts'
import type { Effect } from './effects.ts'
import { type Change, isSettled, type Job, recorded, type Transition } from './job.ts'
import { scoresOf } from './scores.ts'
import { timedAssignments } from './seats.ts'
import { noticesOf } from './webhook.ts'

/** Ends a job for good; what its answers say of their nodes is scored only here. */
export function settle(job: Job, phase: JobPhase, reason: JobReason, now: number): Change {
  // After an outage an acceptance may be noticed long after the deadline, up to which the sessions of its statements last.
  const settledAt = phase === 'accepted' ? Math.min(now, job.deadline) : now
  const settled: Job = { ...job, phase, reason, settledAt }
  if (!isSettled(phase)) throw new TypeError(`${phase} does not settle a job`)
  const effects: Effect[] = [...scoresOf(settled)]
  if (phase === 'accepted') effects.push({ type: 'commit-result' })
  effects.push(...noticesOf(settled))
  return { job: recorded(settled, now, phase, { detail: reason }), effects }
}

/**
 * The client cancels. Until all of a batch have committed that ends the job, and says nothing of anybody. From then on nobody may choose by what was opened
 * whether it counts: the answers of the batch are still collected, and score their nodes. Nobody is seated any more.
 */
export function cancel(job: Job, now: number): Transition {
  if (job.phase === 'cancelled' || job.cancelledAt !== undefined) return { job, effects: [] }
  if (isSettled(job.phase)) {
    return { refused: 'job-settled', detail: `The job is already ${job.phase}` }
  }
  // Its delivery is settled: nothing is waited for but numbers that decide nothing.
  if (currentTurn(job)?.opening) return settle(job, 'accepted', 'quorum-agreed', now)
  return { job: { ...job, cancelledAt: now }, effects: [] }
}

/** The change, and the end of a job that the client has cancelled, once no answer is being opened any more. */
export function concluded(change: Change, now: number): Change {
  const { job, effects } = change
  const isCancelled = job.cancelledAt !== undefined && !isSettled(job.phase)
  if (!isCancelled || timedAssignments(job).length > 0) return change
  const ended = settle(job, 'cancelled', 'cancelled-by-client', now)
  return { job: ended.job, effects: [...effects, ...ended.effects] }
}

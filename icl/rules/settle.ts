import type { JobPhase, JobReason } from '../../lib/schemas/jobs.ts'
import type { Effect } from './effects.ts'
import { type Change, isSettled, type Job, recorded, type Transition } from './job.ts'
import { scoresOf } from './scores.ts'
import { noticesOf } from './webhook.ts'

/** Ends a job for good; what its answers say of their nodes is scored only here. */
export function settle(job: Job, phase: JobPhase, reason: JobReason, now: number): Change {
  const settled: Job = { ...job, phase, reason, settledAt: now }
  if (!isSettled(phase)) throw new TypeError(`${phase} does not settle a job`)
  const effects: Effect[] = [...scoresOf(settled)]
  if (phase === 'accepted') effects.push({ type: 'commit-result' })
  effects.push(...noticesOf(settled))
  return { job: recorded(settled, now, phase, { detail: reason }), effects }
}

/**
 * The client cancels. Before the first answer is opened that ends the job, and says nothing of anybody. After it nobody may choose by what was opened whether
 * it counts: the answers of the batch are still collected, and score their nodes. Nobody is seated any more.
 */
export function cancel(job: Job, now: number): Transition {
  if (job.phase === 'cancelled' || job.cancelledAt !== undefined) return { job, effects: [] }
  if (isSettled(job.phase)) {
    return { refused: 'job-settled', detail: `The job is already ${job.phase}` }
  }
  const isRevealing = job.assignments.some(
    ({ status, deadline }) => status === 'committed' && deadline !== undefined,
  )
  return isRevealing
    ? { job: { ...job, cancelledAt: now }, effects: [] }
    : settle(job, 'cancelled', 'cancelled-by-client', now)
}

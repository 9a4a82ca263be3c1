import { isSettled, type Job } from '../rules/job.ts'
import type { Metrics } from './metrics.ts'
import { settledJob } from './settled-job.ts'

/** Counts how long a job was in the phase that it left, to the second, from its events. Counts its figures when it settles. */
export function notePhaseChange(
  metrics: Metrics,
  before: Job | undefined,
  job: Job,
  now: number,
): void {
  if (before === undefined || before.phase === job.phase) return
  metrics.phase(before.phase, job.phase, Math.max(0, (now - enteredAt(before)) / 1000))
  if (isSettled(job.phase) && !isSettled(before.phase)) metrics.settled(settledJob(job))
}

/** Returns when a job entered its phase, in milliseconds: the time of the first of its last events with that phase. */
function enteredAt({ events, phase, createdAt }: Job): number {
  const last = events.findLastIndex((event) => event.phase !== phase)
  const first = events[last + 1]
  return first === undefined ? createdAt : first.at * 1000
}

import type { DeliveryReason, JobPhase } from '../../lib/schemas/jobs.ts'
import type { PassReason } from '../../lib/schemas/list.ts'
import type { AgreementRule } from '../../lib/schemas/terms.ts'
import { answersOf } from '../rules/agreed.ts'
import { isSettled, type Job } from '../rules/job.ts'

/** The figures of a settled job. A running job is not counted, because only its nodes may know its course. */
export type SettledJob = {
  readonly rule: AgreementRule
  readonly phase: JobPhase
  readonly passed: readonly PassReason[]
  /** Seats that were added to the quorum during the job. */
  readonly joined: number
  /** The outcome of each turn to deliver, in order. */
  readonly deliveries: readonly (DeliveryReason | 'settled' | 'broken-off')[]
  /** Answers outside the agreement. */
  readonly dissents: number
}

/** Returns the figures of a settled job. */
function settledJob(job: Job): SettledJob {
  const { agreement, seats, list, passed, phase } = job
  const turns = agreement?.turns ?? []
  const group = agreement?.group
  return {
    rule: list.terms.rule,
    phase,
    passed: passed.map(({ reason }) => reason),
    joined: seats - list.terms.quorum,
    deliveries: turns.map(
      ({ failed }) => failed?.reason ?? (phase === 'accepted' ? 'settled' : 'broken-off'),
    ),
    dissents: group ? answersOf(job).filter(({ fence }) => !group.includes(fence)).length : 0,
  }
}

type Counts = {
  phase(from: JobPhase, to: JobPhase, seconds: number): void
  settled(job: SettledJob): void
}

/** Counts how long a job was in the phase that it left, to the second, from its events. Counts its figures when it settles. */
export function notePhaseChange(
  metrics: Counts,
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

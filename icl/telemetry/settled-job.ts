import type { DeliveryReason, JobPhase } from '../../lib/schemas/jobs.ts'
import type { PassReason } from '../../lib/schemas/list.ts'
import type { AgreementRule } from '../../lib/schemas/terms.ts'
import { answersOf } from '../rules/agreed.ts'
import type { Job } from '../rules/job.ts'

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
export function settledJob(job: Job): SettledJob {
  const { agreement, batches, list, passed, phase } = job
  const turns = agreement?.turns ?? []
  const group = agreement?.group
  return {
    rule: list.terms.rule,
    phase,
    passed: passed.map(({ reason }) => reason),
    joined: batches.slice(1).reduce((sum, seats) => sum + seats, 0),
    deliveries: turns.map(
      ({ failed }) => failed?.reason ?? (phase === 'accepted' ? 'settled' : 'broken-off'),
    ),
    dissents: group ? answersOf(job).filter(({ fence }) => !group.includes(fence)).length : 0,
  }
}

import { type Decision, decide } from '../../lib/agreement-rule.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { type Answered, answersOf, quotaOfJob } from './agreed.ts'
import type { Job } from './job.ts'
import { batchOf } from './seats.ts'

/** True when the evidence of two answers matches. */
export const isMatch = (one: Answered, other: Answered): boolean =>
  comparators[one.answer.body.evidence.comparator].compare(
    one.answer.body.evidence,
    other.answer.body.evidence,
  ) === 'match'

/** Decides on the revealed answers, when at most `left` more can be had. */
export const decisionOf = (job: Job, left?: number): Decision<Answered> =>
  decide(
    answersOf(job).map((answered) => ({ ...answered, batch: batchOf(job, answered.seat) })),
    isMatch,
    quotaOfJob(job),
    left,
  )

import { type Quota, quotaOf } from '../../lib/agreement-rule.ts'
import type { Assignment, Job, Turn } from './job.ts'
import type { PostedAnswer } from './posted.ts'
import { batchOf } from './seats.ts'

/** Returns the quota of the job's terms. Throws RangeError for terms without one, which the checks at submission rule out. */
export function quotaOfJob({ list }: Pick<Job, 'list'>): Quota {
  const { rule, quorum, min_matches: minMatches, max_answers: maxAnswers } = list.terms
  const listLength = list.members.length
  const result = quotaOf({ rule, quorum, listLength, minMatches, maxAnswers })
  if (result.outcome === 'refused') throw new RangeError(result.why)
  return result.quota
}

/** An assignment whose node has revealed its answer. */
export type Answered = Assignment & { readonly answer: PostedAnswer }

/** The revealed answers, ordered by batch and position. */
export const answersOf = (job: Job): readonly Answered[] =>
  job.assignments
    .filter((assignment): assignment is Answered => assignment.answer !== undefined)
    .toSorted((a, b) => batchOf(job, a.seat) - batchOf(job, b.seat) || a.position - b.position)

/** The turn to deliver that is under way; undefined when there is none. */
export function currentTurn({ agreement }: Job): Turn | undefined {
  const turn = agreement?.turns.at(-1)
  return turn?.failed ? undefined : turn
}

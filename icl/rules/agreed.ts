import { viewAgreement } from '../../lib/agreement.ts'
import { type Decision, decide, type Quota, quotaOf } from '../../lib/agreement-rule.ts'
import { comparators } from '../../lib/comparators/all.ts'
import type { AgreementView } from '../../lib/schemas/jobs.ts'
import type { Terms } from '../../lib/schemas/terms.ts'
import { type Assignment, isSettled, type Job, type Turn } from './job.ts'
import type { PostedAnswer } from './posted.ts'

/** Returns the quota of terms for a list of this length, or why there is none. */
export function quotaOfTerms(terms: Terms, listLength: number) {
  const { rule, quorum, min_matches: minMatches, max_answers: maxAnswers } = terms
  return quotaOf({ rule, quorum, listLength, minMatches, maxAnswers })
}

/** Returns the quota of the job's terms. Throws RangeError for terms without one, which the checks at submission rule out. */
export function quotaOfJob({ list }: Pick<Job, 'list'>): Quota {
  const result = quotaOfTerms(list.terms, list.members.length)
  if (result.outcome === 'refused') throw new RangeError(result.why)
  return result.quota
}

/** An assignment whose node has revealed its answer. */
export type Answered = Assignment & { readonly answer: PostedAnswer }

/** The revealed answers, ordered by batch and position. */
export const answersOf = (job: Job): readonly Answered[] =>
  job.assignments
    .filter((assignment): assignment is Answered => assignment.answer !== undefined)
    .toSorted((a, b) => a.batch - b.batch || a.position - b.position)

/** The turn to deliver that is under way; undefined when there is none. */
export function currentTurn({ agreement }: Job): Turn | undefined {
  const turn = agreement?.turns.at(-1)
  return turn?.failed ? undefined : turn
}

/** True when the evidence of two answers matches. */
export function isMatch(one: Answered, other: Answered): boolean {
  const { evidence } = one.answer.body
  const { compare } = comparators[evidence.comparator]
  return compare(evidence, other.answer.body.evidence) === 'match'
}

/** Decides on the revealed answers, when at most `left` more can be had. */
export const decisionOf = (job: Job, left?: number): Decision<Answered> =>
  decide(answersOf(job), isMatch, quotaOfJob(job), left)

/** How many answers of a settled job agree, and how far apart they are; undefined before it settles or with fewer than two answers. */
export function agreementOf(job: Job): AgreementView | undefined {
  const answers = answersOf(job)
  if (!isSettled(job.phase) || answers.length < 2) return undefined
  const group = job.agreement?.group ?? []
  const deliverer = job.phase === 'accepted' ? currentTurn(job)?.fence : undefined
  return viewAgreement({
    comparator: job.comparator,
    rule: job.list.terms.rule,
    needed: quotaOfJob(job).needed,
    answers: answers.map(({ node, answer }) => ({ node, evidence: answer.body.evidence })),
    group: answers.filter(({ fence }) => group.includes(fence)).map(({ node }) => node),
    deliverer: answers.find(({ fence }) => fence === deliverer)?.node,
  })
}

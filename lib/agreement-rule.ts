/*
 * Which answers of a job count as its agreement.
 *
 * Answers come in batches: first one for each seat of the quorum, then as many as are missing. Comparisons are symmetric, but not
 * transitive: A may match B and B match C while A does not match C. So the agreement is a clique, a group in which each two answers match.
 * Then any member may deliver, and an answer that is written to lie between two others joins no group.
 *
 * Invariants. The quota is fixed before any node answers and never falls, so silence gains nothing. No job is accepted with fewer answers
 * than the quorum. The quota is more than half of the quorum, and a later batch is just large enough to complete the largest clique, so
 * each clique that reaches the quota contains the whole last batch. So no step has to choose between two disjoint groups.
 *
 * Every function is pure and counts in integers, so ICL, client and receipt get the same result.
 */

import type { AgreementRule } from './schemas/terms.ts'

/** The most answers of any job. `decide` looks at every group of them, so the number has to stay small. */
export const mostAnswers = 7

export const defaultMaxAnswers: Readonly<Record<AgreementRule, number>> = {
  three: 7,
  'any-two': 5,
  majority: 5,
}

/** The numbers of answers that an agreement needs. */
export type Quota = {
  /** Answers of the first batch. No job is accepted with fewer. */
  readonly quorum: number
  /** The most answers of the job. */
  readonly maxAnswers: number
  /** Answers that have to match one another. */
  readonly needed: number
}

/** What a client asks for, and the length of its list. Whole numbers. */
export type QuotaRequest = {
  readonly rule: AgreementRule
  /** At least 3. */
  readonly quorum: number
  /** Nodes on the drawn list. */
  readonly listLength: number
  /** How many others each answer of the group has to match; 1 when left out. */
  readonly minMatches?: number | undefined
  /** `mostAnswers` at most; the rule's own number when left out. */
  readonly maxAnswers?: number | undefined
}

/** A quota, or why no job can have it. It is known before anything is paid. */
export type QuotaResult =
  | { readonly outcome: 'quota'; readonly quota: Quota }
  | { readonly outcome: 'refused'; readonly why: string }

/** Returns the quota of a request. With three nodes on the list, two matching answers are enough under every rule. */
export function quotaOf(request: QuotaRequest): QuotaResult {
  const { rule, quorum, listLength, minMatches = 1 } = request
  const limit = request.maxAnswers ?? defaultMaxAnswers[rule]
  if (quorum < 3) return refused(`a quorum has at least 3 nodes, not ${quorum}`)
  if (limit > mostAnswers) return refused(`a job has at most ${mostAnswers} answers, not ${limit}`)
  if (quorum > limit) {
    return refused(`a quorum of ${quorum} is more than the ${limit} answers that the job may have`)
  }
  if (quorum > listLength) {
    return refused(`a quorum of ${quorum} needs as many nodes, and the list has ${listLength}`)
  }
  const maxAnswers = Math.min(limit, listLength)
  const needed = Math.max(baseOf(rule, maxAnswers), Math.floor(quorum / 2) + 1, minMatches + 1)
  if (needed > maxAnswers) {
    return refused(
      `${needed} answers have to match one another, and the job has at most ${maxAnswers}`,
    )
  }
  return { outcome: 'quota', quota: { quorum, maxAnswers, needed } }
}

const refused = (why: string): QuotaResult => ({ outcome: 'refused', why })

function baseOf(rule: AgreementRule, maxAnswers: number): number {
  switch (rule) {
    case 'any-two':
      return 2
    case 'three':
      return maxAnswers === 3 ? 2 : 3
    case 'majority':
      return Math.floor(maxAnswers / 2) + 1
  }
}

/** An answer's place in its job. No two answers share one. */
export type Placed = {
  /** 0 for the quorum's batch. */
  readonly batch: number
  /** The node's position on the list. */
  readonly position: number
}

/** What the answers of a job so far decide. */
export type Decision<Answer> =
  | {
      readonly outcome: 'accepted'
      /** The answers that match one another, by batch and position. */
      readonly group: readonly Answer[]
      /** The same group as bits: bit i is answer i of all answers, ordered by batch and position. */
      readonly mask: number
    }
  | { readonly outcome: 'more'; readonly count: number }
  | { readonly outcome: 'disputed' }

/**
 * Decides on all revealed answers, once no answer of a batch is outstanding. Accepts the largest group that reaches the quota; of equally
 * large ones, that with the smallest mask, which is the earliest. Else asks for as many more as could complete the largest group, else
 * disputes. `left` is how many more answers the job can get. The order of `answers` does not matter. `isMatch` must be symmetric. Throws
 * RangeError for more answers than the quota allows.
 */
export function decide<Answer extends Placed>(
  answers: readonly Answer[],
  isMatch: (one: Answer, other: Answer) => boolean,
  { quorum, maxAnswers, needed }: Quota,
  left: number = Number.MAX_SAFE_INTEGER,
): Decision<Answer> {
  if (answers.length > maxAnswers) {
    throw new RangeError(`${answers.length} answers, where a job has at most ${maxAnswers}`)
  }
  // An incomplete quorum is no dispute, however few nodes are left.
  if (answers.length < quorum) return { outcome: 'more', count: quorum - answers.length }
  const ordered = answers.toSorted((a, b) => a.batch - b.batch || a.position - b.position)
  const { mask, size } = largestClique(ordered, isMatch)
  if (size >= needed) {
    return { outcome: 'accepted', mask, group: ordered.filter((_, at) => (mask >> at) & 1) }
  }
  const count = needed - size
  if (count > left || answers.length + count > maxAnswers) return { outcome: 'disputed' }
  return { outcome: 'more', count }
}

function largestClique<Answer>(
  ordered: readonly Answer[],
  isMatch: (one: Answer, other: Answer) => boolean,
): { readonly mask: number; readonly size: number } {
  // For each answer, the earlier answers that it matches, as a mask.
  const earlier = ordered.map((one, at) =>
    ordered
      .slice(0, at)
      .reduce((mask, other, place) => (isMatch(other, one) ? mask | (1 << place) : mask), 0),
  )
  let best = { mask: 0, size: 0 }
  for (let mask = 1; mask < 1 << ordered.length; mask++) {
    const size = sizeOf(mask)
    if (size > best.size && isClique(mask, earlier)) best = { mask, size }
  }
  return best
}

function isClique(mask: number, earlier: readonly number[]): boolean {
  return earlier.every((matched, at) => {
    const isMember = ((mask >> at) & 1) === 1
    const before = mask & ((1 << at) - 1)
    return !isMember || (before & ~matched) === 0
  })
}

function sizeOf(mask: number): number {
  let size = 0
  for (let rest = mask; rest > 0; rest &= rest - 1) size++
  return size
}

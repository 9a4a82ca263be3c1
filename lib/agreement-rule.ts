/*
 * Which answers of a job count as its agreement.
 *
 * Answers come in batches: first one for each seat of the quorum, then as many as are missing. Comparisons are symmetric, but not transitive:
 * A may match B and B match C while A does not match C. So the agreement is a clique, a group in which each two answers match one another: it
 * does not matter which of them delivers, and one answer written to lie between two others joins no group.
 *
 * Invariants. The quota is fixed before anybody answers and never falls, so nobody gains by staying silent. Nothing is accepted on fewer
 * answers than the quorum. The quota is more than half of the quorum, and a later batch is just large enough to fill the largest clique up: each
 * clique that reaches the quota has all answers of the last batch in it. So no step ever has to choose between two disjoint groups.
 *
 * Every function is pure and counts in integers: coordinator, client and receipt get the same result.
 */

import type { AgreementRule } from './schemas/terms.ts'

/** The most answers that any job can have: a decision looks at every group of them. */
export const mostAnswers = 7

export const defaultMaxAnswers: Readonly<Record<AgreementRule, number>> = {
  three: 7,
  'any-two': 5,
  majority: 5,
}

/** What a job's agreement takes, in answers. */
export type Quota = {
  /** Answers that are asked for at first. Nothing is accepted on fewer. */
  readonly quorum: number
  /** The most answers of the job. */
  readonly maxAnswers: number
  /** Answers that have to match one another. */
  readonly needed: number
}

/** What a client asks for, and how many nodes the draw gave it. Whole numbers. */
export type QuotaRequest = {
  readonly rule: AgreementRule
  /** At least 3. */
  readonly quorum: number
  /** Nodes on the list that was drawn. */
  readonly listLength: number
  /** Others that have to match each answer of the group; 1 when left out. */
  readonly minMatches?: number | undefined
  /** The rule's own number when left out; `mostAnswers` at the most. */
  readonly maxAnswers?: number | undefined
}

/** A quota, or why no job can have it: told before anything is paid. */
export type QuotaResult =
  | { readonly outcome: 'quota'; readonly quota: Quota }
  | { readonly outcome: 'refused'; readonly why: string }

/** The quota of a request. With three nodes on the list two that match are enough under every rule. */
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

/** Where an answer stands among the others of its job: no two stand at the same place. */
export type Placed = {
  /** 0 for the quorum. */
  readonly batch: number
  /** On the list. */
  readonly position: number
}

/** What the answers of a job so far decide. */
export type Decision<Answer> =
  | {
      readonly outcome: 'accepted'
      /** The answers that match one another, by batch and position. */
      readonly group: readonly Answer[]
      /** The same group: bit i is the answer at place i of all answers by batch and position. */
      readonly mask: number
    }
  | { readonly outcome: 'more'; readonly count: number }
  | { readonly outcome: 'disputed' }

/**
 * Decides on all answers that were revealed, once no answer of a batch is outstanding: accepts the largest group that reaches the quota (of equally
 * large ones that with the smallest mask, so the earliest), else asks for as many more as could fill the largest up, else disputes. `left` says
 * how many more answers can be had. In which order the answers are given does not matter. `isMatch` has to be symmetric. Throws RangeError
 * for more answers than the quota allows.
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
  // That more are needed to fill the quorum up is no dispute, however few are left.
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
  // The earlier answers that each one matches, as a mask.
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

import type { ComparatorId } from './codecs.ts'
import { comparators } from './comparators/all.ts'
import type { Verdict, VerdictReason } from './schemas/jobs.ts'

/** A settled verifier's vote. */
export type Vote = { readonly verdict: Verdict; readonly reason?: VerdictReason | undefined }

/** Votes by what they say; an inconclusive one counts for and against nobody. */
export type VoteCount = {
  readonly matches: number
  readonly noMatches: number
  readonly inconclusive: number
}

/** Counts votes. */
export function countVotes(votes: readonly Vote[]): VoteCount {
  const matches = votes.filter(({ verdict }) => verdict === 'match').length
  const inconclusive = votes.filter(
    ({ verdict, reason }) => verdict === 'no-match' && reason === 'inconclusive',
  ).length
  return { matches, inconclusive, noMatches: votes.length - matches - inconclusive }
}

/**
 * True when the votes accept the leader's answer: at least two and more than half match; or, for a comparator that can
 * be inconclusive, at least one matches and none says no-match. `minMatches` is the client's wish for more.
 */
export function accepts(
  comparator: ComparatorId,
  votes: readonly Vote[],
  minMatches: number,
): boolean {
  const { matches, noMatches } = countVotes(votes)
  if (matches < minMatches) return false
  if (matches >= 2 && 2 * matches > votes.length) return true
  return comparators[comparator].canBeInconclusive && matches >= 1 && noMatches === 0
}

/**
 * True when the votes reject the leader: at least two and more than half say no-match, and all of these agree among
 * themselves (`agree`, by their evidence).
 */
export function rejects(votes: readonly Vote[], agree: boolean): boolean {
  const { noMatches } = countVotes(votes)
  return noMatches >= 2 && 2 * noMatches > votes.length && agree
}

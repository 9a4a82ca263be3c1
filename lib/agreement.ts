import type { Address, ComparatorId } from './codecs.ts'
import { comparators } from './comparators/all.ts'
import type { Evidence } from './schemas/evidence.ts'
import type { AnswerPair, TallyView, Verdict, VerdictReason } from './schemas/jobs.ts'
import { countVotes } from './tally.ts'

/** A node's answer as its evidence shows it. */
type ShownAnswer = { readonly node: Address; readonly evidence: Evidence }

/** How far each two answers are apart, in the order in which they are given. */
function pairsOf(comparator: ComparatorId, answers: readonly ShownAnswer[]): AnswerPair[] {
  const { explain } = comparators[comparator]
  return answers.flatMap((one, index) =>
    answers.slice(index + 1).map((other) => {
      const { outcome, why, similarities } = explain(one.evidence, other.evidence)
      const nodes: [Address, Address] = [one.node, other.node]
      return { nodes, outcome, why, ...(similarities && { similarities: { ...similarities } }) }
    }),
  )
}

/** Verdicts counted, and how far the answers were apart. */
export function viewTally(
  comparator: ComparatorId,
  leader: ShownAnswer,
  verdicts: readonly (ShownAnswer & {
    readonly verdict: Verdict
    readonly reason?: VerdictReason | undefined
  })[],
): TallyView {
  const { matches, noMatches, inconclusive } = countVotes(verdicts)
  return {
    matches,
    no_matches: noMatches,
    inconclusive,
    pairs: pairsOf(comparator, [leader, ...verdicts]),
  }
}

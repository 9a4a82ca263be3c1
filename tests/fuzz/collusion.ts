import type { ComparatorId } from '../../lib/codecs.ts'
import { accepts, rejects, type Vote } from '../../lib/tally.ts'

const firstVerifiers = 2
const mostVerifiers = 5

/** What honest verifiers say of an answer that colluding nodes made up. */
export type Honest = 'no-match' | 'inconclusive'

/**
 * How likely colluding nodes with a share of the weight of a large pool get an answer that they made up accepted in one round: one of
 * them has to lead, and what the others vote goes through the tally of the service itself.
 */
export function chanceOfFalseAnswer(
  share: number,
  {
    comparator,
    honest,
    minMatches = 1,
  }: { comparator: ComparatorId; honest: Honest; minMatches?: number },
): number {
  const honestVote: Vote =
    honest === 'no-match'
      ? { verdict: 'no-match', reason: 'different-answer' }
      : { verdict: 'no-match', reason: 'inconclusive' }
  const chance = (votes: readonly Vote[]): number => {
    if (votes.length >= firstVerifiers) {
      if (accepts(comparator, votes, minMatches)) return 1
      if (rejects(votes, true) || votes.length === mostVerifiers) return 0
    }
    return (
      share * chance([...votes, { verdict: 'match' }]) +
      (1 - share) * chance([...votes, honestVote])
    )
  }
  return share * chance([])
}

/** How likely at least one node of the first quorum colludes: it has read the prompt. */
export const chanceOfLeak = (share: number): number => 1 - (1 - share) ** (1 + firstVerifiers)

const percent = (chance: number): string => {
  const value = 100 * chance
  return `${value.toFixed(value < 0.1 ? 3 : value < 10 ? 2 : 1)} %`
}

/** The rows of the table in docs/security.md. */
export const collusionRows = (): readonly string[] =>
  [0.01, 0.05, 0.1, 0.2, 0.33, 0.5].map((share) => {
    const cells = [
      `${Math.round(100 * share)} %`,
      percent(chanceOfLeak(share)),
      percent(chanceOfFalseAnswer(share, { comparator: 'exact', honest: 'no-match' })),
      percent(chanceOfFalseAnswer(share, { comparator: 'similar/2', honest: 'inconclusive' })),
      percent(
        chanceOfFalseAnswer(share, {
          comparator: 'similar/2',
          honest: 'inconclusive',
          minMatches: 2,
        }),
      ),
    ]
    return `| ${cells.join(' | ')} |`
  })

import type { Comparison } from '../../../lib/comparators/comparator.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import { bootstrap, type Cluster, type Rate, wilson } from './statistics.ts'

/** Every outcome, in the order of the tables. */
export const outcomes = [
  'match',
  'inconclusive',
  'no-match',
] as const satisfies readonly Comparison[]

/** Outcomes of comparisons by question. */
export type Counted = Map<string, Record<Comparison, number>>

/** The share of each outcome. */
export type Rates = Readonly<Record<Comparison, Rate>>

/** Counts one more outcome of a question. */
export function count(counted: Counted, question: string, outcome: Comparison): void {
  const counts = counted.get(question) ?? { match: 0, inconclusive: 0, 'no-match': 0 }
  counts[outcome] += 1
  counted.set(question, counts)
}

/** The share of each outcome; Wilson's interval where each question was drawn once, else a bootstrap over the questions. */
export function ratesOf(counted: Counted): Rates {
  const rateOf = (outcome: Comparison): Rate =>
    rateOfClusters(
      [...counted.values()].map((counts) => ({
        hits: counts[outcome],
        of: counts.match + counts.inconclusive + counts['no-match'],
      })),
    )
  return {
    match: rateOf('match'),
    inconclusive: rateOf('inconclusive'),
    'no-match': rateOf('no-match'),
  }
}

/** A share over questions that were asked once or often. */
export function rateOfClusters(clusters: readonly Cluster[]): Rate {
  if (clusters.some(({ of }) => of > 1)) return bootstrap(clusters)
  return wilson(clusters.filter(({ hits }) => hits === 1).length, clusters.length)
}

/** Length classes of real answers, by the tokens of the verifier's. */
export const lengthClasses = ['<= 12', '13-60', '61-200', '> 200'] as const

/** The class that a piece of evidence belongs to. */
export function lengthClassOf({ tokens }: Evidence): (typeof lengthClasses)[number] {
  if (tokens <= 12) return '<= 12'
  if (tokens <= 60) return '13-60'
  return tokens <= 200 ? '61-200' : '> 200'
}

import { table } from '../table.ts'
import { percent } from './grid.ts'
import { groupBy } from './group-by.ts'
import type { RealComparison } from './measure-real.ts'
import { rateOfClusters } from './outcomes.ts'
import type { Rate } from './statistics.ts'

/** What a leader and two verifiers say together; each a share of all jobs. */
export type TogetherRates = {
  readonly case: string
  readonly one: Rate
  readonly either: Rate
  readonly both: Rate
  /** The verifiers match each other and neither matches the leader. */
  readonly onlyVerifiers: Rate
}

/** How often each case's leader matches its verifiers. */
export function togetherRates(found: readonly RealComparison[]): TogetherRates[] {
  return [...groupBy(found, (one) => one.case)].map(([name, comparisons]) => {
    const share = (hits: (comparison: RealComparison) => number, of = 1): Rate =>
      rateOfClusters(
        [...groupBy(comparisons, ({ question }) => question).values()].map((asked) => ({
          hits: asked.reduce((sum, comparison) => sum + hits(comparison), 0),
          of: asked.length * of,
        })),
      )
    const matching = ({ pairs }: RealComparison) =>
      pairs.filter(({ outcome }) => outcome === 'match').length
    return {
      case: name,
      one: share(matching, 2),
      either: share((comparison) => (matching(comparison) > 0 ? 1 : 0)),
      both: share((comparison) => (matching(comparison) === 2 ? 1 : 0)),
      onlyVerifiers: share((comparison) =>
        matching(comparison) === 0 && comparison.verifiers === 'match' ? 1 : 0,
      ),
    }
  })
}

/** The same as a table. */
export const togetherTable = (rates: readonly TogetherRates[]): string =>
  table([
    ['leader, %', 'matches one given', 'either of two', 'both', 'neither, but they each other'],
    ...rates.map((row) => [
      row.case,
      ...[row.one, row.either, row.both, row.onlyVerifiers].map(percent),
    ]),
  ])

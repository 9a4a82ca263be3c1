import type { Comparator } from '../../../lib/comparators/comparator.ts'
import { embedStandIn } from './embedding-stand-in.ts'
import type { Findings } from './findings.ts'
import { gridOfMade, tablesOf } from './grid.ts'
import { lengths, madeCases } from './made-cases.ts'
import { measureMade } from './measure-made.ts'
import type { Options } from './options.ts'
import { plotRates } from './plot-rates.ts'
import { progressBar } from './progress.ts'
import { fileNameOf, titleOf } from './titles.ts'

/** Measures the made corpus. */
export async function benchMade(
  options: Options,
  comparators: readonly Comparator[],
): Promise<Findings> {
  const { seed, answers } = options
  const found = await measureMade({
    comparators,
    cases: madeCases,
    lengths,
    answers,
    seed,
    embed: embedStandIn,
    onProgress: progressBar('made corpus'),
  })
  const grids = comparators.map(({ id }) =>
    gridOfMade(
      titleOf(id),
      found.filter(({ comparator }) => comparator === id),
    ),
  )
  return {
    text: [
      `Made corpus: seed ${seed}, ${answers} answers for each case and length; 95 % intervals (Wilson).`,
      ...grids.map(tablesOf),
    ].join('\n\n'),
    json: { made: { seed, answers, rates: found } },
    plots: grids.map((grid, index) => ({
      file: `comparators-made-${fileNameOf(comparators[index]?.id ?? '')}.svg`,
      svg: plotRates(`${grid.title}, made corpus`, grid.columns, grid.rows),
    })),
  }
}

import type { Comparison } from '../../../lib/comparators/comparator.ts'
import { table } from '../table.ts'
import { groupBy } from './group-by.ts'
import type { MadeRates } from './measure-made.ts'
import type { RealComparison } from './measure-real.ts'
import { type Counted, count, lengthClasses, type Rates, ratesOf } from './outcomes.ts'
import type { PlotRow } from './plot-rates.ts'
import type { Half } from './real-cases.ts'
import type { Rate } from './statistics.ts'

/** Rates of one comparator: a row for each case, a column for each length. */
export type Grid = {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly PlotRow[]
}

/** The rates of a comparator on the made corpus. */
export function gridOfMade(title: string, found: readonly MadeRates[]): Grid {
  const lengths = [...new Set(found.map(({ words }) => words))]
  return {
    title,
    columns: lengths.map((words) => `${words} words`),
    rows: [...groupBy(found, (one) => one.case)].map(([name, cells]) => ({
      label: name,
      honest: cells[0]?.honest ?? false,
      rates: lengths.map((words) => cells.find((cell) => cell.words === words)?.rates),
    })),
  }
}

/** The rates of a comparator on one half of the recorded questions; `rowOf` names the row of a comparison. */
export function gridOfReal(
  title: string,
  found: readonly RealComparison[],
  half: Half,
  rowOf: (comparison: RealComparison) => string,
): Grid {
  const rows = groupBy(
    found.filter((one) => one.half === half),
    rowOf,
  )
  return {
    title,
    columns: [...lengthClasses.map((name) => `${name} tokens`), 'all'],
    rows: [...rows].map(([name, comparisons]) => ({
      label: name,
      honest: comparisons[0]?.honest ?? false,
      rates: [...lengthClasses, undefined].map((wanted) => {
        const counted: Counted = new Map()
        for (const { question, pairs } of comparisons) {
          for (const { outcome, lengthClass } of pairs) {
            if (wanted === undefined || lengthClass === wanted) count(counted, question, outcome)
          }
        }
        return counted.size === 0 ? undefined : ratesOf(counted)
      }),
    })),
  }
}

/** A grid as tables: the shares of matches with their intervals, then those of no-matches. */
export const tablesOf = (grid: Grid): string =>
  (['match', 'no-match'] as const)
    .map((outcome) => `${grid.title}: ${outcome}, %\n${tableOf(grid, outcome)}`)
    .join('\n')

function tableOf({ columns, rows }: Grid, outcome: Comparison): string {
  const shown = (rates: Rates | undefined) => (rates === undefined ? '' : percent(rates[outcome]))
  return table([
    ['', ...columns],
    ...rows.map((row) => [
      `${row.honest ? 'honest: ' : ''}${row.label}`,
      ...row.rates.map((rates) => shown(rates)),
    ]),
  ])
}

/** A share in percent with its interval. */
export const percent = ({ rate, low, high, of }: Rate): string =>
  of === 0
    ? '-'
    : `${(100 * rate).toFixed(1)} [${(100 * low).toFixed(1)}-${(100 * high).toFixed(1)}]`

import { outcomes, type Rates } from './outcomes.ts'
import { bar, colours, image, label, rule } from './svg.ts'

/** One row of bars: a case. */
export type PlotRow = {
  readonly label: string
  readonly honest: boolean
  /** By column; undefined where nothing was measured. */
  readonly rates: readonly (Rates | undefined)[]
}

const labelWidth = 270
const columnWidth = 150
const barWidth = 130
const rowHeight = 20
const top = 66

/** Rates of every case by length, as bars of match, inconclusive and no-match; a whisker is the interval of match. */
export function plotRates(
  title: string,
  columns: readonly string[],
  rows: readonly PlotRow[],
): string {
  const sorted = [...rows.filter(({ honest }) => honest), ...rows.filter(({ honest }) => !honest)]
  const firstDishonest = sorted.findIndex(({ honest }) => !honest)
  const gap = (index: number) => (firstDishonest > 0 && index >= firstDishonest ? 24 : 0)
  const yOf = (index: number) => top + 20 + index * rowHeight + gap(index)
  const width = labelWidth + columns.length * columnWidth + 10
  const height = yOf(sorted.length) + 12
  const parts = [
    label(12, 22, title, { bold: true }),
    ...legend(12, 42),
    ...columns.map((name, column) =>
      label(labelWidth + column * columnWidth + barWidth / 2, top, name, { anchor: 'middle' }),
    ),
    ...(firstDishonest !== 0 ? [label(12, top + 8, 'honest', { bold: true })] : []),
    ...(firstDishonest > 0
      ? [label(12, yOf(firstDishonest) - 8, 'dishonest', { bold: true })]
      : []),
    ...sorted.flatMap((row, index) => [
      label(22, yOf(index) + 12, row.label),
      ...row.rates.flatMap((rates, column) =>
        rates === undefined || rates.match.of === 0
          ? []
          : stack(labelWidth + column * columnWidth, yOf(index), rates),
      ),
    ]),
  ]
  return image(width, height, title, parts)
}

function stack(x: number, y: number, rates: Rates): string[] {
  let at = x
  const bars = outcomes.map((outcome) => {
    const width = rates[outcome].rate * barWidth
    const drawn = bar(at, y + 3, width, 12, colours[outcome])
    at += width
    return drawn
  })
  const { low, high } = rates.match
  const middle = y + 9
  return [...bars, rule(x + low * barWidth, middle, x + high * barWidth, middle, colours.ink)]
}

const legend = (x: number, y: number): string[] =>
  outcomes.flatMap((outcome, index) => [
    bar(x + index * 110, y - 10, 12, 12, colours[outcome]),
    label(x + index * 110 + 18, y, outcome),
  ])

import type { Comparison } from '../../../lib/comparators/comparator.ts'
import { table } from '../table.ts'
import { halves, lengthClasses, type Measured } from './measure.ts'
import { type Rate, rateOf } from './rates.ts'

/** Rates in rows. */
export type RateTable = {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly { readonly label: string; readonly rates: readonly Rate[] }[]
}

const cases = { H: 'another run of the model', D: 'weaker model' } as const
const kinds = Object.keys(cases) as (keyof typeof cases)[]
const outcomes = ['match', 'no-match'] as const

/** For each comparator and half: the outcomes by length and by set, and what a leader and two verifiers say together. */
export function tablesOf(all: readonly Measured[]): RateTable[] {
  return [...new Set(all.map(({ comparator }) => comparator))].flatMap((comparator) =>
    halves.flatMap((half) => {
      const found = all.filter((one) => one.comparator === comparator && one.half === half)
      if (found.length === 0) return []
      const title = `${comparator}, ${half} half of the questions, %`
      return [byLength(title, found), bySet(title, found), together(title, found)]
    }),
  )
}

/** A table as text: shares in percent with their 95 % intervals. */
export const textOf = ({ title, columns, rows }: RateTable): string =>
  `${title}\n${table([['', ...columns], ...rows.map(({ label, rates }) => [label, ...rates.map(percent)])])}`

const percent = ({ rate, low, high, of }: Rate): string =>
  of === 0
    ? '-'
    : `${(100 * rate).toFixed(1)} [${(100 * low).toFixed(1)}-${(100 * high).toFixed(1)}]`

/** The share of `hits` among `of`, each counted for one leader, over questions. */
function share(
  found: readonly Measured[],
  hits: (one: Measured) => number,
  of: (one: Measured) => number,
): Rate {
  const clusters = new Map<string, { hits: number; of: number }>()
  for (const one of found) {
    if (of(one) === 0) continue
    const sum = clusters.get(one.question) ?? { hits: 0, of: 0 }
    clusters.set(one.question, { hits: sum.hits + hits(one), of: sum.of + of(one) })
  }
  return rateOf([...clusters.values()])
}

const pairShare = (found: readonly Measured[], outcome: Comparison, length?: string): Rate => {
  const pairsOf = ({ pairs }: Measured) =>
    pairs.filter((pair) => length === undefined || pair.length === length)
  return share(
    found,
    (one) => pairsOf(one).filter((pair) => pair.outcome === outcome).length,
    (one) => pairsOf(one).length,
  )
}

const byLength = (title: string, found: readonly Measured[]): RateTable => ({
  title: `${title}, by tokens of the verifier's answer`,
  columns: [...lengthClasses, 'all'],
  rows: kinds.flatMap((kind) => {
    const ofKind = found.filter((one) => one.kind === kind)
    return outcomes.map((outcome) => ({
      label: `${cases[kind]}: ${outcome}`,
      rates: [...lengthClasses, undefined].map((length) => pairShare(ofKind, outcome, length)),
    }))
  }),
})

const bySet = (title: string, found: readonly Measured[]): RateTable => ({
  title: `${title}, by set`,
  columns: [...outcomes],
  rows: [...new Set(found.map(({ name }) => name))].flatMap((name) =>
    kinds.map((kind) => {
      const own = found.filter((one) => one.name === name && one.kind === kind)
      return {
        label: `${cases[kind]}, ${name}`,
        rates: outcomes.map((outcome) => pairShare(own, outcome)),
      }
    }),
  ),
})

const matchesOf = ({ pairs }: Measured) => pairs.filter(({ outcome }) => outcome === 'match').length

const together = (title: string, found: readonly Measured[]): RateTable => ({
  title: `${title}, a leader and two verifiers`,
  columns: ['matches one given', 'either of two', 'both', 'neither, but they each other'],
  rows: kinds.map((kind) => {
    const ofKind = found.filter((one) => one.kind === kind)
    const jobs = (is: (one: Measured) => boolean) =>
      share(
        ofKind,
        (one) => (is(one) ? 1 : 0),
        () => 1,
      )
    return {
      label: cases[kind],
      rates: [
        pairShare(ofKind, 'match'),
        jobs((one) => matchesOf(one) > 0),
        jobs((one) => matchesOf(one) === 2),
        jobs((one) => matchesOf(one) === 0 && one.verifiers === 'match'),
      ],
    }
  }),
})

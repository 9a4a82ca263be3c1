import { createDice } from '../../simulation/dice.ts'

/** A share with the bounds of its 95 % interval; all from 0 to 1. */
export type Rate = {
  readonly rate: number
  readonly low: number
  readonly high: number
  readonly of: number
}

/** How often something happened among the pairs of one question, which resemble one another. */
export type Cluster = { readonly hits: number; readonly of: number }

const z = 1.959964
const rounds = 2_000

/** The percentile interval of a bootstrap that draws whole questions; where it has no width, Wilson's over the questions. */
export function rateOf(clusters: readonly Cluster[]): Rate {
  const hits = clusters.reduce((sum, cluster) => sum + cluster.hits, 0)
  const of = clusters.reduce((sum, cluster) => sum + cluster.of, 0)
  // A bootstrap of only hits or only misses would claim certainty.
  if (hits === 0) return { ...wilson(0, clusters.length), of }
  if (hits === of) return { ...wilson(clusters.length, clusters.length), of }
  const dice = createDice(1)
  const rates = Array.from({ length: rounds }, () => {
    let [drawnHits, drawnOf] = [0, 0]
    for (let draw = 0; draw < clusters.length; draw++) {
      const cluster = dice.pick(clusters)
      drawnHits += cluster.hits
      drawnOf += cluster.of
    }
    return drawnHits / drawnOf
  }).sort((a, b) => a - b)
  return {
    rate: hits / of,
    low: rates[Math.floor(0.025 * rounds)] ?? 0,
    high: rates[Math.ceil(0.975 * rounds) - 1] ?? 1,
    of,
  }
}

/** Wilson's interval, for draws that do not depend on one another. */
function wilson(hits: number, of: number): Rate {
  if (of === 0) return { rate: Number.NaN, low: 0, high: 1, of }
  const rate = hits / of
  const middle = (rate + z ** 2 / (2 * of)) / (1 + z ** 2 / of)
  const half = (z / (1 + z ** 2 / of)) * Math.sqrt((rate * (1 - rate)) / of + (z / (2 * of)) ** 2)
  return {
    rate,
    low: hits === 0 ? 0 : Math.max(0, middle - half),
    high: hits === of ? 1 : Math.min(1, middle + half),
    of,
  }
}

import { eventOf } from './counted-events.ts'
import {
  afterEvent,
  emptyFold,
  inOrder,
  type ReputationCode,
  utcDayOf,
  weightOf,
} from './reputation.ts'
import type { ReputationStatement } from './schemas/nodes.ts'

/** Events as causes of a move of weight. Codes that move no weight have none. */
const deeds: Readonly<Partial<Record<ReputationCode, string>>> = {
  'answer-delivered': 'delivering the agreed answer',
  'answer-agreed': 'agreeing with others',
  'answer-contradicted': 'contradicting the agreement',
  'answer-dissented': 'differing from the agreement',
  'answer-likely': 'differing from the agreement in a likely answer',
  'answer-unlikely': 'an answer that is unlikely under the model',
  'never-delivered': 'letting a turn to deliver pass',
  'output-refused': 'an output that the others refused',
  'never-checked': 'not checking a delivery',
  'verdict-outvoted': 'a verdict that was outvoted',
  'never-shown': 'not showing an answer',
  'never-weighed': 'not weighing answers',
  'numbers-odd': "numbers that are apart from all others'",
  'never-revealed': 'not opening a commitment',
  'lease-lapsed': 'letting a lease lapse',
  'answered-late': 'answering late after all',
  'offer-lapsed': 'not claiming an offer',
  'verdict-refuted': 'a verdict that its own answer refutes',
  equivocated: 'signing two answers',
}

const days = 7

type Move = { readonly change: number; readonly times: number }

/** Says what moved a node's weight in the last 7 UTC days, the largest move first, from all its events. `now` is in milliseconds. */
export function weightMovesText(bodies: readonly ReputationStatement[], now: number): string {
  const first = utcDayOf(now) - days + 1
  const moves = new Map<ReputationCode, Move>()
  let fold = emptyFold
  let before = weightOf(fold.standing)
  for (const event of inOrder(bodies.flatMap((body) => eventOf(body) ?? []))) {
    const last = weightOf(fold.standing)
    fold = afterEvent(fold, event)
    const change = weightOf(fold.standing) - last
    if (utcDayOf(event.at) < first) before = weightOf(fold.standing)
    else if (change !== 0) {
      const known = moves.get(event.code) ?? { change: 0, times: 0 }
      moves.set(event.code, { change: known.change + change, times: known.times + 1 })
    }
  }
  const after = weightOf(fold.standing)
  if (moves.size === 0) return `${after}, and nothing moved it in ${days} days`
  const said = [...moves]
    .toSorted(([, a], [, b]) => Math.abs(b.change) - Math.abs(a.change))
    .map(([code, { change, times }]) => `${withSign(change)} by ${deeds[code] ?? code}${of(times)}`)
  return `${before} to ${after} in ${days} days: ${said.join(', ')}`
}

/** Returns a node's share of the draws from all active nodes, as percent. */
export const shareText = ({
  weight,
  pool_weight: all,
}: {
  readonly weight: number
  readonly pool_weight: number
}): string =>
  `${((100 * weight) / Math.max(all, weight)).toFixed(2)} % (weight ${weight} of ${all})`

const withSign = (change: number): string => (change < 0 ? String(change) : `+${change}`)
const of = (times: number): string => (times === 1 ? '' : ` (${times} times)`)

import {
  afterEvent,
  type Counted,
  countedAfter,
  emptyFold,
  inOrder,
  isReputationCode,
  type ReputationEvent,
  utcDayOf,
} from './reputation.ts'
import type { ReputationStatement } from './schemas/nodes.ts'

/** Returns the event of a statement; undefined when this version does not know its code. */
export function eventOf(body: ReputationStatement): ReputationEvent | undefined {
  const { id, address: node, jobId, code, amount_gwei: amountGwei, client, partners, again } = body
  if (!isReputationCode(code)) return undefined
  const at = body.at * 1000
  return { id, node, jobId, code, at, amountGwei, client, partners, again }
}

/** Says in words how much an event counted; empty when it counted in full. */
export function countedText(counted: Counted): string {
  if (counted === 'full') return ''
  return counted === 'again'
    ? 'not again for the same partners on this day'
    : 'bounded by what all clients may move in a day'
}

/** Says how much a node's latest events counted, by id, if less than in full. Unless `isWhole`, the bounds of the first day are unknown. */
export function countedTexts(
  bodies: readonly ReputationStatement[],
  isWhole: boolean,
): ReadonlyMap<string, string> {
  const events = inOrder(bodies.flatMap((body) => eventOf(body) ?? []))
  const first = utcDayOf(events[0]?.at ?? 0)
  const texts = new Map<string, string>()
  let fold = emptyFold
  for (const event of events) {
    const counted = countedAfter(fold, event)
    fold = afterEvent(fold, event)
    const isKnown = isWhole || counted === 'again' || utcDayOf(event.at) > first
    const text = countedText(counted)
    if (isKnown && text !== '') texts.set(event.id, text)
  }
  return texts
}

import {
  afterEvent,
  emptyFold,
  inOrder,
  type ReputationEvent,
  type ReputationFold,
  type Standing,
} from '../../lib/reputation.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Folded, Node } from '../rules/eligibility.ts'
import type { Store } from '../store/store.ts'

const pageSize = 1_000
/** Events that are not folded yet are read again for each new one: so many at most, where time allows. */
const mostUnfolded = 4
/** How long events are left out of what is folded for good, in seconds, where another replica, whose clock may be behind, may be about to save one. */
const settlingSeconds = 600

const secondOf = ({ at }: ReputationEvent): number => toSeconds(at)

/**
 * A node's standing: the fold of all its events, from those on that the node's document has folded already. `from` is the earliest
 * second in which an event may have come that is not among them; undefined when that is not known, so that everything is read. `added` are
 * about to be saved.
 */
export async function foldStanding(
  store: Store,
  node: Node,
  from: number | undefined,
  nowSeconds: number,
  added: readonly ReputationEvent[] = [],
): Promise<{ readonly standing: Standing; readonly folded?: Folded }> {
  const known = from !== undefined && from >= (node.folded?.before ?? 0) ? node.folded : undefined
  const start = known ?? emptyFold
  const events = await listSince(store, node, known?.before ?? 0)
  const ordered = inOrder([...events, ...added])
  const { standing } = ordered.reduce(afterEvent, start)
  const before = nowSeconds - (store.shared ? settlingSeconds : 0)
  const folded = ordered.length > mostUnfolded ? foldedBefore(before, start, ordered) : known
  return { standing, ...(folded && { folded }) }
}

function foldedBefore(
  before: number,
  start: ReputationFold,
  ordered: readonly ReputationEvent[],
): Folded {
  const old = ordered.filter((event) => secondOf(event) < before)
  const { standing, losses } = old.reduce(afterEvent, start)
  return { before, standing, losses }
}

/** A node's events of a second and later. */
async function listSince(store: Store, { address }: Node, second: number) {
  const events: ReputationEvent[] = []
  for (;;) {
    const before = events.at(-1)
    const page = await store.listReputationEvents(address, {
      limit: pageSize,
      since: second * 1000,
      ...(before && { before }),
    })
    events.push(...page)
    if (page.length < pageSize) return events
  }
}

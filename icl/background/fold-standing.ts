import {
  afterEvent,
  emptyFold,
  inOrder,
  type ReputationEvent,
  type Standing,
} from '../../lib/reputation.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Folded, Node } from '../rules/eligibility.ts'
import type { Store } from '../store/store.ts'

const pageSize = 1_000
/** How many events may stay unfolded. Another process reads them again for each new event. */
const mostUnfolded = 4
/**
 * How old an event is, in seconds, when it is folded for good. Another replica, whose clock may be behind, may be about to save an earlier
 * one, or to take one back. Of a busy node only the newest events wait for that, because each score reads those that wait.
 */
const settlingSeconds = 60
const leastSettlingSeconds = 2
const mostSettling = 64

/**
 * The events of a standing that are not in the node's fold, so that this process need not read them again. A standing is saved together
 * with each new event: a document that another process has saved since comes with an object of its own, which is not in here.
 */
const unfolded = new WeakMap<
  Standing,
  { readonly folded: Folded | undefined; readonly events: readonly ReputationEvent[] }
>()

/**
 * Returns a node's standing: the fold of all its events, starting from the fold in the node's document. `from` is the earliest second of
 * an event that this fold may lack. If it is undefined, all events are read. `added` are about to be saved.
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
  const kept = from === undefined ? undefined : unfolded.get(node.standing)
  const isSame = kept !== undefined && kept.folded === node.folded && known === node.folded
  const events = isSame ? kept.events : await listSince(store, node, known?.before ?? 0)
  const ordered = inOrder([...events, ...added])
  const { standing } = ordered.reduce(afterEvent, start)
  // Without events it is the object of all newcomers, or that of the fold.
  const remember = (folded: Folded | undefined, events: readonly ReputationEvent[]) =>
    ordered.length > 0 && unfolded.set(standing, { folded, events })
  const settled = store.shared ? settledBefore(ordered, nowSeconds) : nowSeconds
  // The clock may have been set back since: what is folded stays folded.
  const before = Math.max(settled, known?.before ?? 0)
  if (ordered.length <= mostUnfolded) {
    remember(known, ordered)
    return { standing, ...(known && { folded: known }) }
  }
  const isOld = ({ at }: ReputationEvent) => toSeconds(at) < before
  const old = ordered.filter(isOld).reduce(afterEvent, start)
  const folded = { before, standing: old.standing, losses: old.losses }
  remember(
    folded,
    ordered.filter((event) => !isOld(event)),
  )
  return { standing, folded }
}

function settledBefore(ordered: readonly ReputationEvent[], nowSeconds: number): number {
  const firstOfNewest = toSeconds(ordered.at(-mostSettling)?.at ?? 0)
  return Math.max(
    nowSeconds - settlingSeconds,
    Math.min(firstOfNewest, nowSeconds - leastSettlingSeconds),
  )
}

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

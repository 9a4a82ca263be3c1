import type { Address } from '../../lib/codecs.ts'
import type { KeyedMutex } from '../async/mutex.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Store, Write } from '../store/store.ts'
import { unavailable } from './unavailable.ts'

const maxTries = 20

/** The store of nodes, and the pool that learns of each node that this process saves. */
export type Nodes = {
  readonly store: Store
  readonly pool: { note(node: Node): void }
  /** Queues the changes of this process by node; not needed for a single change. */
  readonly turns?: KeyedMutex
}

/** Writes that are saved together with a node. */
export type Alongside = {
  readonly writes: readonly Write[]
  /** Called when one of the writes is refused. It throws to give up, or returns to let `changeNode` start again. */
  readonly onRefused: (write: Write) => void
}

type Change = (node: Node | undefined) => Promise<Node | undefined> | Node | undefined

/**
 * Saves what `change` makes of a node, and starts again when another process saved the node in between. `change` may return undefined to
 * leave an absent node absent. The writes of `alongside` go into the same save, even when the node does not change. Other changes of the
 * node in this process wait meanwhile. Throws ProblemError `unavailable` after 20 tries.
 */
export function changeNode(
  nodes: Nodes,
  address: Address,
  change: Change,
  alongside: () => Alongside | undefined = () => undefined,
): Promise<Node | undefined> {
  const work = () => changeInTurn(nodes, address, change, alongside)
  return nodes.turns ? nodes.turns(`node ${address}`, work) : work()
}

async function changeInTurn(
  { store, pool }: Nodes,
  address: Address,
  change: Change,
  alongside: () => Alongside | undefined,
): Promise<Node | undefined> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await store.findNode(address)
    const node = await change(found?.document)
    const isChanged = node !== undefined && node !== found?.document
    const { writes, onRefused } = alongside() ?? { writes: [], onRefused: () => {} }
    if (!isChanged && writes.length === 0) return node
    const base = found?.version ?? 0
    const refused = await store.saveAll([
      ...writes,
      ...(isChanged ? [{ kind: 'node', node, base } as const] : []),
    ])
    if (!refused) {
      if (isChanged) pool.note(node)
      return node
    }
    if (refused.kind !== 'node') onRefused(refused)
  }
  throw unavailable('The node is being changed by too many at once', 1)
}

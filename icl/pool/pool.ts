import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { cached } from '../async/cached.ts'
import type { Chain } from '../chain/chain.ts'
import type { ChainNode, Node } from '../rules/eligibility.ts'
import type { OccupiedSlots, Store } from '../store/store.ts'
import { createPublishedPools, type PublishedPools } from './published-pools.ts'

const cachedMs = 1_000
/** Questions for a pool that does not exist must not read all nodes each time. */
const forgettingMs = 500

/** A node with what the chain says of it. */
export type KnownNode = { readonly node: Node; readonly chain: ChainNode }

/**
 * What pools are made of, read at most once a second however many ask; what this process saves shows at once. A caller that acts on
 * it looks again at the nodes that it chose.
 */
export type Pool = {
  /** Every node with a certificate; throws when the chain does not answer. */
  nodes(): Promise<readonly KnownNode[]>
  /** How many slots of each node are occupied. */
  busy(): Promise<ReadonlyMap<Address, OccupiedSlots>>
  /** A node that was just saved. */
  note(node: Node): void
  /** Makes the next question read everything again; at most every half second, because strangers can bring it about. */
  forget(): void
  /** What lists are drawn from. */
  readonly published: PublishedPools
}

/** The pool over a store and a chain. */
export function createPool({
  store,
  chain,
  clock,
}: {
  readonly store: Store
  readonly chain: Chain
  readonly clock: Clock
}): Pool {
  const readNodes = async (): Promise<Map<Address, Node>> =>
    new Map((await store.listNodes(clock.now())).map((node) => [node.address, node]))
  // What was saved before a read began is in it, perhaps changed since by another process; what comes after it is noted.
  const documents = cached(clock, cachedMs, () => ({
    nodes: readNodes(),
    noted: new Map<Address, Node>(),
  }))
  const busy = cached(clock, cachedMs, () => store.countOccupiedSlots())
  const forgetAll = () => {
    documents.forget()
    busy.forget()
  }
  store.commits.onLost(forgetAll)
  let forgottenAt: MonotonicMs | undefined
  const current = async () => {
    const { nodes: read, noted } = documents.read()
    try {
      const nodes = await read
      for (const [address, node] of noted) nodes.set(address, node)
      noted.clear()
      return nodes
    } catch (error) {
      documents.forget()
      throw error
    }
  }
  return {
    published: createPublishedPools(clock),
    nodes: async () => {
      const nodes = await current()
      const states = await chain.nodesOf([...nodes.keys()])
      return [...nodes.values()].flatMap((node) => {
        const state = states.get(node.address)
        return state ? [{ node, chain: state }] : []
      })
    },
    busy: () =>
      busy.read().catch((error: unknown) => {
        busy.forget()
        throw error
      }),
    note: (node) => {
      documents.last()?.noted.set(node.address, node)
    },
    forget: () => {
      if (elapsedSince(clock, forgottenAt) < forgettingMs) return
      forgottenAt = clock.monotonic()
      forgetAll()
    },
  }
}

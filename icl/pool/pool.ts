import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { firstIndex } from '../../lib/first-index.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { cached } from '../async/cached.ts'
import { setNewest } from '../async/set-newest.ts'
import type { Chain } from '../chain/chain.ts'
import type { ChainNode, Node } from '../rules/eligibility.ts'
import type { OccupiedSlots, Store } from '../store/store.ts'

const cachedMs = 1_000
/** To ask for more would hold the thread for long. */
const statesAtOnce = 2_000
/** Limits how often strangers can make the pool read all nodes. */
const forgettingMs = 500

/** A node with its state on chain. */
export type KnownNode = { readonly node: Node; readonly chain: ChainNode }

/**
 * The nodes that pools are made of. What other processes save to a shared store is a second late, but what this one saves is included. A caller that acts on it checks
 * the nodes that it chose again.
 */
export type Pool = {
  /** Returns every node with a valid certificate that the chain knows, by address. Throws when the chain or the store does not answer. */
  nodes(): Promise<readonly KnownNode[]>
  /** Returns those of some nodes that `nodes` would return, by address. */
  find(addresses: readonly Address[]): Promise<ReadonlyMap<Address, KnownNode>>
  /** Returns how many slots of each node are occupied. */
  busy(): Promise<ReadonlyMap<Address, OccupiedSlots>>
  /** Adds a node that this process has just saved. */
  note(node: Node): void
  /** Makes the next call read everything again, at most every half second, because strangers can cause it. */
  forget(): void
  /** The published pools, from which lists are drawn. */
  readonly published: PublishedPools
}

/** Creates the pool over a store and a chain. */
export function createPool({
  store,
  chain,
  clock,
}: {
  readonly store: Store
  readonly chain: Chain
  readonly clock: Clock
}): Pool {
  // A read includes every save before it began, also by other processes. Later saves of this process are noted: nothing else changes a
  // store that is not shared.
  const readMs = store.shared ? cachedMs : Number.POSITIVE_INFINITY
  const documents = cached(clock, readMs, () => {
    const noted = new Map<Address, Node>()
    const read = async () => {
      const nodes = nodesInOrder(await store.listNodes(clock.now()))
      for (const node of noted.values()) nodes.put(node)
      known.note = nodes.put
      return nodes
    }
    const known = {
      nodes: read(),
      note: (node: Node) => {
        noted.set(node.address, node)
      },
    }
    return known
  })
  const busy = cached(clock, cachedMs, () => store.countOccupiedSlots())
  const forgetAll = () => {
    documents.forget()
    busy.forget()
  }
  store.commits.onLost(forgetAll)
  store.commits.onForeign(forgetAll)
  let forgottenAt: MonotonicMs | undefined
  const current = async () => {
    try {
      return await documents.read().nodes
    } catch (error) {
      documents.forget()
      throw error
    }
  }
  const find = async (nodes: NodesInOrder, addresses: readonly Address[]) => {
    const known: KnownNode[] = []
    for (let start = 0; start < addresses.length; start += statesAtOnce) {
      if (start > 0) await clock.sleep(0)
      const some = addresses
        .slice(start, start + statesAtOnce)
        .flatMap((address) => nodes.get(address) ?? [])
      const states = await chain.nodesOf(some.map(({ address }) => address))
      const now = clock.now()
      for (const node of some) {
        const state = states.get(node.address)
        if (node.certificate.expiresAt <= now) nodes.drop(node)
        else if (state) known.push({ node, chain: state })
      }
    }
    return known
  }
  return {
    published: createPublishedPools(clock),
    nodes: async () => {
      const nodes = await current()
      return find(nodes, nodes.addresses())
    },
    find: async (addresses) => {
      const found = await find(await current(), addresses)
      return new Map(found.map((known) => [known.node.address, known]))
    },
    busy: () =>
      busy.read().catch((error: unknown) => {
        busy.forget()
        throw error
      }),
    note: (node) => {
      documents.last()?.note(node)
    },
    forget: () => {
      if (elapsedSince(clock, forgottenAt) < forgettingMs) return
      forgottenAt = clock.monotonic()
      // The nodes of a store that is not shared are known: to read them all would hold the thread for a second.
      if (store.shared) documents.forget()
      busy.forget()
    },
  }
}

type NodesInOrder = ReturnType<typeof nodesInOrder>

/** Makes a list of nodes that stays in the order of addresses, because to sort a large one would hold the thread. `list` is in that order. */
function nodesInOrder(list: readonly Node[]) {
  const known = new Map(list.map((node) => [node.address, node]))
  const order = list.map(({ address }) => address)
  const placeOf = (address: Address) =>
    firstIndex(order.length, (index) => (order[index] ?? '') >= address)
  return {
    get: (address: Address) => known.get(address),
    addresses: (): readonly Address[] => [...order],
    put: (node: Node): void => {
      if (!known.has(node.address)) order.splice(placeOf(node.address), 0, node.address)
      known.set(node.address, node)
    },
    /** Drops a node whose certificate has ended. It comes back with its next attestation, which is noted. */
    drop: (node: Node): void => {
      if (known.get(node.address) !== node) return
      known.delete(node.address)
      order.splice(placeOf(node.address), 1)
    },
  }
}

/** How long a published pool stays the current one, in milliseconds. */
export const currentMs = 30_000

const mostKept = 8

/** A pool by the CID of its snapshot, and the CIDs of all its parts. */
export type PublishedPool = {
  readonly cid: string
  readonly nodes: readonly PoolNode[]
  readonly parts: readonly string[]
}

/** The published pools that this process remembers. The store has the list of all (icl/operations/publish-pool.ts). */
type PublishedPools = ReturnType<typeof createPublishedPools>

/** Creates an empty memory of pools. */
function createPublishedPools(clock: Pick<Clock, 'monotonic'>) {
  const pools = new Map<string, Promise<PublishedPool>>()
  const keep = (cid: string, pool: Promise<PublishedPool>) => {
    pool.catch(() => pools.delete(cid))
    setNewest(pools, cid, pool, mostKept)
    return pool
  }
  let last: PublishedPool | undefined
  let since: MonotonicMs | undefined
  let finding: Promise<PublishedPool> | undefined
  const replace = (pool: PublishedPool) => {
    last = pool
    since = clock.monotonic()
    void keep(pool.cid, Promise.resolve(pool))
  }
  return {
    /** Makes a pool the current one. */
    replace,
    /** Returns the current pool. If none is remembered or it is 30 s old, concurrent callers share one call of `find`, with the last pool. */
    current: async (find: (last: PublishedPool | undefined) => Promise<PublishedPool>) => {
      if (last && elapsedSince(clock, since) < currentMs) return last
      finding ??= find(last)
        .then((found) => {
          replace(found)
          return found
        })
        .finally(() => {
          finding = undefined
        })
      return await finding
    },
    /** Returns a pool by its CID. Loads it unless it is among the last 8 used. */
    get: (cid: string, load: () => Promise<PublishedPool>) => keep(cid, pools.get(cid) ?? load()),
  }
}

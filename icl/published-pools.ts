import { type Clock, elapsedSince, type MonotonicMs } from '../lib/clock.ts'
import type { PoolNode } from '../lib/pool-snapshot.ts'

/** How long a published pool stays the current one, in milliseconds. */
export const currentMs = 30_000

const mostKept = 8

/** A pool by the CID of its snapshot. */
export type PublishedPool = { readonly cid: string; readonly nodes: readonly PoolNode[] }

/** What this process remembers of published pools; which there are is in the store (icl/operations/publish-pool.ts). */
export type PublishedPools = {
  /** The current pool; `find` looks for it, once however many ask, when none is remembered or it is 30 s old. It is given the last one. */
  current(find: (last: PublishedPool | undefined) => Promise<PublishedPool>): Promise<PublishedPool>
  /** Makes this the current one. */
  replace(pool: PublishedPool): void
  /** The nodes of a pool, loaded once. */
  nodesOf(cid: string, load: () => Promise<readonly PoolNode[]>): Promise<readonly PoolNode[]>
}

/** An empty memory. */
export function createPublishedPools(clock: Pick<Clock, 'monotonic'>): PublishedPools {
  const pools = new Map<string, Promise<readonly PoolNode[]>>()
  const keep = (cid: string, nodes: Promise<readonly PoolNode[]>) => {
    nodes.catch(() => pools.delete(cid))
    pools.delete(cid)
    pools.set(cid, nodes)
    const [oldest] = pools.keys()
    if (pools.size > mostKept && oldest !== undefined) pools.delete(oldest)
    return nodes
  }
  let last: PublishedPool | undefined
  let since: MonotonicMs | undefined
  let finding: Promise<PublishedPool> | undefined
  const replace = (pool: PublishedPool) => {
    last = pool
    since = clock.monotonic()
    void keep(pool.cid, Promise.resolve(pool.nodes))
  }
  return {
    replace,
    current: async (find) => {
      if (last && elapsedSince(clock, since) < currentMs) return last
      finding ??= find(last).finally(() => {
        finding = undefined
      })
      const found = await finding
      if (found !== last) replace(found)
      return found
    },
    nodesOf: (cid, load) => keep(cid, pools.get(cid) ?? load()),
  }
}

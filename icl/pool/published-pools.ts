import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { PoolNode } from '../../lib/pool-snapshot.ts'

/** How long a published pool stays the current one, in milliseconds. */
export const currentMs = 30_000

const mostKept = 8

/** A pool by the CID of its snapshot, and the CIDs of all its parts. */
export type PublishedPool = {
  readonly cid: string
  readonly nodes: readonly PoolNode[]
  readonly parts: readonly string[]
}

/** What this process remembers of published pools; which there are is in the store (icl/operations/publish-pool.ts). */
export type PublishedPools = {
  /** The current pool; `find` looks for it, once however many ask, when none is remembered or it is 30 s old. It is given the last one. */
  current(find: (last: PublishedPool | undefined) => Promise<PublishedPool>): Promise<PublishedPool>
  /** Makes this the current one. */
  replace(pool: PublishedPool): void
  /** A pool by its CID, loaded once. */
  get(cid: string, load: () => Promise<PublishedPool>): Promise<PublishedPool>
}

/** An empty memory. */
export function createPublishedPools(clock: Pick<Clock, 'monotonic'>): PublishedPools {
  const pools = new Map<string, Promise<PublishedPool>>()
  const keep = (cid: string, pool: Promise<PublishedPool>) => {
    pool.catch(() => pools.delete(cid))
    pools.delete(cid)
    pools.set(cid, pool)
    const [oldest] = pools.keys()
    if (pools.size > mostKept && oldest !== undefined) pools.delete(oldest)
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
    replace,
    current: async (find) => {
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
    get: (cid, load) => keep(cid, pools.get(cid) ?? load()),
  }
}

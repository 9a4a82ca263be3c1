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

/** The published pools that this process remembers. The store has the list of all (icl/operations/publish-pool.ts). */
export type PublishedPools = {
  /** Returns the current pool. If none is remembered or it is 30 s old, concurrent callers share one call of `find`, with the last pool. */
  current(find: (last: PublishedPool | undefined) => Promise<PublishedPool>): Promise<PublishedPool>
  /** Makes a pool the current one. */
  replace(pool: PublishedPool): void
  /** Returns a pool by its CID. Loads it unless it is among the last 8 used. */
  get(cid: string, load: () => Promise<PublishedPool>): Promise<PublishedPool>
}

/** Creates an empty memory of pools. */
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

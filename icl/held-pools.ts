import type { Clock } from '../lib/clock.ts'
import type { Hash32 } from '../lib/codecs.ts'
import { digestOfPool, poolText, type Weighted } from '../lib/draw.ts'
import { type PoolSnapshot, snapshotPool } from '../lib/pool-snapshot.ts'

const defaultMaxBytes = 32 * 1024 * 1024
const maxStates = 8

/** A pool by the CID that its snapshot has. */
type HeldPool = { readonly root: string; readonly digest: Hash32 }

/**
 * The pools of previews, in this process's memory until a job needs them: previews cost nothing, so that nothing is
 * written for them. Pools that differ in few nodes have most parts in common.
 */
export type HeldPools = {
  /** Holds free nodes, in pool order, for `heldMs` at most. */
  hold(free: readonly Weighted[]): Promise<HeldPool>
  /** The blobs of a pool that is held. */
  partsOf(root: string): PoolSnapshot['parts'] | undefined
  isEmpty(): boolean
}

type State = { readonly snapshot: PoolSnapshot; readonly digest: Hash32 }

/** Memory for pools; the oldest go when they take more than `maxBytes`. */
export function createHeldPools(
  clock: Clock,
  heldMs: number,
  maxBytes = defaultMaxBytes,
): HeldPools {
  // The last states, by what they are made of: many previews of one moment are written down and digested once.
  const states = new Map<string, Promise<State>>()
  const snapshots = createSnapshots(maxBytes)
  const stateOf = (free: readonly Weighted[]): Promise<State> => {
    const text = poolText(free)
    const state = states.get(text) ?? describe(free, text)
    state.catch(() => states.delete(text))
    states.delete(text)
    states.set(text, state)
    const [oldest] = states.keys()
    if (states.size > maxStates && oldest !== undefined) states.delete(oldest)
    return state
  }
  return {
    hold: async (free) => {
      const { snapshot, digest } = await stateOf(free)
      const now = clock.now()
      snapshots.drop(now)
      snapshots.add(snapshot, now + heldMs)
      return { root: snapshot.root, digest }
    },
    partsOf: (root) => {
      snapshots.drop(clock.now())
      return snapshots.find(root)
    },
    isEmpty: () => {
      snapshots.drop(clock.now())
      return snapshots.isEmpty()
    },
  }
}

async function describe(free: readonly Weighted[], text: string): Promise<State> {
  const digest = digestOfPool(text)
  return { snapshot: await snapshotPool(free), digest }
}

/** Snapshots whose common parts are there once. */
function createSnapshots(maxBytes: number) {
  const parts = new Map<string, { readonly bytes: Uint8Array<ArrayBuffer>; users: number }>()
  // The one that was asked for longest ago comes first, and has the earliest end.
  const pools = new Map<string, { readonly cids: readonly string[]; readonly until: number }>()
  let heldBytes = 0

  const remove = (root: string) => {
    for (const cid of pools.get(root)?.cids ?? []) {
      const part = parts.get(cid)
      if (!part) continue
      part.users -= 1
      if (part.users > 0) continue
      parts.delete(cid)
      heldBytes -= part.bytes.length
    }
    pools.delete(root)
  }
  const take = (snapshot: PoolSnapshot) => {
    for (const [cid, bytes] of snapshot.parts) {
      const part = parts.get(cid)
      if (part) {
        part.users += 1
        continue
      }
      parts.set(cid, { bytes, users: 1 })
      heldBytes += bytes.length
    }
  }

  return {
    add: (snapshot: PoolSnapshot, until: number): void => {
      const { root } = snapshot
      const known = pools.get(root)
      if (!known) take(snapshot)
      pools.delete(root)
      pools.set(root, { cids: known?.cids ?? [...snapshot.parts.keys()], until })
      for (const oldest of pools.keys()) {
        if (heldBytes <= maxBytes || oldest === root) break
        remove(oldest)
      }
    },
    find: (root: string): PoolSnapshot['parts'] | undefined => {
      const found = new Map<string, Uint8Array<ArrayBuffer>>()
      for (const cid of pools.get(root)?.cids ?? []) {
        const part = parts.get(cid)
        if (part) found.set(cid, part.bytes)
      }
      return found.size > 0 ? found : undefined
    },
    drop: (now: number): void => {
      for (const [root, { until }] of pools) {
        if (until > now) break
        remove(root)
      }
    },
    isEmpty: () => pools.size === 0,
  }
}

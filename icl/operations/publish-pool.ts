/*
 * Problem: neither the client nor the ICL may choose the pool that a list is drawn from once the seed of the list is known.
 * Everybody who has the terms must be able to read the pool.
 *
 * Idea: the ICL publishes the whole pool, with busy nodes, as blobs, and notes in the store when it was the current one. Terms
 * name a pool by its CID, and stand in the block that makes the seed. A list is drawn only from a pool that was current shortly
 * before that block.
 *
 * Invariants:
 * - A pool is readable and its note is saved before the ICL names it to anybody.
 * - All replicas share the current pool: the first to publish one sets it for the next 30 s. It is replaced sooner only when
 *   it has too few nodes for a request, and a new pool has enough.
 * - A change of weights alone is published once the pool is 10 minutes old, so that not every job makes a pool that each client has
 *   to fetch. A node that joins, leaves or changes brings all weights with it.
 * - A note covers one unbroken time. A pool that becomes current again after another one gets a second note.
 *
 * Failure cases: without room for a new pool the last one stays current. Without any pool the callers get `unavailable`. A
 * replica that cannot read the shared pool, or finds one of a clock that was ahead, publishes its own beside it.
 */
import { lineOf, type PoolNode } from '../../lib/pool-line.ts'
import { type PoolSnapshot, readPool, snapshotPool } from '../../lib/pool-snapshot.ts'
import { ProblemError } from '../../lib/problem.ts'
import { dayMs, hourMs, toSeconds } from '../../lib/time.ts'
import { mapInSlices } from '../async/slices.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadPoolNodes } from '../pool/load-pool.ts'
import { currentMs, type PublishedPool } from '../pool/pool.ts'
import { keyOf, prefixOf } from '../records/keys.ts'
import { unavailable } from '../records/unavailable.ts'
import type { Keep, Write } from '../store/store.ts'

const currentKey = keyOf('current-pool')
const prefix = prefixOf('pool')
/** How long a pool is listed after it stopped being the current one. */
const listedMs = hourMs
const weightsMs = 600_000

type Period = { readonly cid: string; readonly from: number; readonly until: number }

/** Returns the pool to draw lists from now. Publishes one when none is recent enough. */
export const currentPool = (deps: Dependencies): Promise<PublishedPool> =>
  deps.pool.published.current(async (last) => {
    const shared = await findShared(deps)
    return shared ?? publish(deps, last)
  })

/** Publishes the pool as it is now, and makes it the current one of all replicas. */
export async function replacePool(deps: Dependencies): Promise<PublishedPool> {
  const { store, clock, pool } = deps
  const before = await store.findKey(currentKey, clock.now())
  const published = await publish(deps, undefined, before)
  pool.published.replace(published)
  return published
}

/** Returns the pools of the last hour with the times in which each was the current one, newest first. */
export async function listPools({ store, clock }: Dependencies) {
  const held = await store.listKeys(prefix, clock.now())
  const periods = held.map(periodOf).toSorted((a, b) => b.from - a.from)
  const pools = periods.map(({ cid: pool_cid, from, until }) => ({
    pool_cid,
    from: toSeconds(from),
    until: toSeconds(until),
  }))
  return { pools }
}

/** The times in which a pool was the current one. */
export async function periodsOf(
  { store, clock }: Dependencies,
  cid: string,
): Promise<readonly Period[]> {
  return (await store.listKeys(prefixOf('pool', cid), clock.now())).map(periodOf)
}

/** Returns a published pool. Throws SvcError `pool-snapshot-invalid`, and ProblemError `unavailable` when its blobs are gone. */
export const loadPublished = (deps: Dependencies, cid: string): Promise<PublishedPool> =>
  deps.pool.published.get(cid, async () => {
    const { nodes, cids } = await readPool(cid, async (part) => {
      const bytes = await deps.blobs.get(part)
      if (bytes) return bytes
      throw new ProblemError('unavailable', `The pool ${cid} is not kept whole here`)
    })
    return { cid, nodes, parts: cids }
  })

/** The current pool in the store, which this or another replica has set; undefined when there is none that can be used. */
async function findShared(deps: Dependencies): Promise<PublishedPool | undefined> {
  const now = deps.clock.now()
  const [held] = await deps.store.listKeys(currentKey, now)
  // One that lasts longer was set by a clock that was ahead, and would be the current one until the time has caught up.
  if (!held || held.expiresAt > now + 2 * currentMs) return undefined
  const cid = held.value
  try {
    const pool = await loadPublished(deps, cid)
    await deps.store.save(await noteOf(deps, cid))
    return pool
  } catch (error) {
    deps.log.warn('the current pool cannot be read', { cid, error: String(error) })
    return undefined
  }
}

/** Publishes the pool as it is now, and makes it current unless the store has a current pool other than `insteadOf`. */
async function publish(
  deps: Dependencies,
  last: PublishedPool | undefined,
  insteadOf?: string,
): Promise<PublishedPool> {
  const nodes = await loadPoolNodes(deps)
  if (last && (await isStillGood(deps, last, nodes)))
    return await makeCurrent(deps, last, insteadOf)
  const { root: cid, parts } = await snapshotPool(nodes, () => deps.clock.sleep(0))
  const isPut = await putParts(deps, parts)
  if (!isPut) {
    deps.log.warn('no room to publish the pool: the last one stays', { parts: parts.size })
  }
  const own = isPut ? { cid, nodes, parts: [...parts.keys()] } : last
  if (!own) {
    throw unavailable('There is no room to publish the pool', 30)
  }
  return await makeCurrent(deps, own, insteadOf)
}

/** Whether a pool differs from these nodes in weights alone, and has not been current for so long that they have to be published. */
async function isStillGood(
  deps: Dependencies,
  { cid, nodes: published }: PublishedPool,
  nodes: readonly PoolNode[],
): Promise<boolean> {
  const since = (await runningPeriod(deps, cid))?.from
  const isRecent = since !== undefined && deps.clock.now() - since < weightsMs
  if (!isRecent || published.length !== nodes.length) return false
  const changed = await mapInSlices(deps.clock, nodes, (node, index) => {
    const other = published[index]
    return other && lineOf(other) === lineOf(node) ? [] : [node]
  })
  return changed.length === 0
}

/** Makes a pool that the store has the current one, unless another one is. Returns the current one. */
async function makeCurrent(
  deps: Dependencies,
  own: PublishedPool,
  insteadOf: string | undefined,
): Promise<PublishedPool> {
  const note = await noteOf(deps, own.cid)
  const { now } = note
  const expiresAt = now + currentMs
  const held = { value: own.cid, insteadOf, now, expiresAt }
  const current = { kind: 'key', key: currentKey, ...held } as const
  const barrier = deps.store.commits.barrier()
  const isRefused = await deps.store.saveAll([note, current])
  const shared = isRefused && (await findShared(deps))
  if (isRefused && !shared) await deps.store.save(note)
  // The note has to be durable before this process remembers the pool as published.
  await barrier()
  return shared ?? own
}

/** Rounds up the times of blobs that many jobs share, so that they are kept longer once an hour or a day, not once for each job. */
export function roundedUp(keep: Keep, nowMs: number): Keep {
  const rounded = (untilMs: number) => {
    const stepMs = untilMs - nowMs < dayMs ? hourMs : dayMs
    return Math.ceil(untilMs / stepMs) * stepMs
  }
  return { ...keep, until: rounded(keep.until), usedUntil: rounded(keep.usedUntil ?? 0) }
}

/** Stores the parts of a pool for as long as lists are drawn from it. Returns false when there is no room for all; stored ones then expire. */
async function putParts(
  { blobs, clock }: Dependencies,
  parts: PoolSnapshot['parts'],
): Promise<boolean> {
  const now = clock.now()
  const until = now + 2 * hourMs
  const options = { ...roundedUp({ until, usedUntil: until }, now), uploader: 'icl' } as const
  const put = await Promise.all([...parts].map(([cid, bytes]) => blobs.put(cid, bytes, options)))
  return put.every(Boolean)
}

/** The time in which a pool has been the current one without a break, if it still is, or was until a moment ago. */
async function runningPeriod(deps: Dependencies, cid: string): Promise<Period | undefined> {
  const now = deps.clock.now()
  const periods = await periodsOf(deps, cid)
  // A period that begins later is of a clock that was ahead.
  return periods.find(({ from, until }) => from <= now && until + currentMs >= now)
}

/** The write that records a pool as the current one now and for the next 30 s. */
async function noteOf(deps: Dependencies, cid: string): Promise<Extract<Write, { kind: 'key' }>> {
  const now = deps.clock.now()
  const key = keyOf('pool', cid, (await runningPeriod(deps, cid))?.from ?? now)
  const expiresAt = now + currentMs + listedMs
  return { kind: 'key', key, value: 'published', now, expiresAt }
}

function periodOf({ key, expiresAt }: { key: string; expiresAt: number }): Period {
  const [cid = '', from] = key.slice(prefix.length).split(':')
  return { cid, from: Number(from), until: expiresAt - listedMs }
}

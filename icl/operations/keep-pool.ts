import { type Candidate, freeNodes } from '../../lib/draw.ts'
import { type PoolSnapshot, snapshotPool } from '../../lib/pool-snapshot.ts'
import { dayMs, hourMs, minuteMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'

const putMs = 10 * minuteMs

// What many have in common is extended once an hour or a day, not by each of them.
function roundedUp(untilMs: number, nowMs: number): number {
  const stepMs = untilMs - nowMs < dayMs ? hourMs : dayMs
  return Math.ceil(untilMs / stepMs) * stepMs
}

/** Keeps the free nodes of a pool and their weights for whoever recomputes a draw from it; returns where, undefined when there is no room. */
export async function keepPool(
  deps: Dependencies,
  pool: readonly Candidate[],
  untilMs: number,
): Promise<string | undefined> {
  const { root, parts } = await snapshotPool(freeNodes(pool))
  if (!(await putPool(deps, parts))) return undefined
  await keepParts(deps, [...parts.keys()], untilMs)
  return root
}

/** Puts a pool where blobs are kept, for ten minutes at least; false when there is no room: the parts of it that had some are gone within the hour or two. */
export async function putPool(
  { blobs, clock, log }: Dependencies,
  parts: PoolSnapshot['parts'],
): Promise<boolean> {
  const now = clock.now()
  const options = { uploader: 'icl', until: roundedUp(now + putMs, now) } as const
  const put = await Promise.all([...parts].map(([cid, bytes]) => blobs.put(cid, bytes, options)))
  if (put.every(Boolean)) return true
  log.warn('no room for a pool snapshot: the draw from it cannot be recomputed', {
    parts: parts.size,
  })
  return false
}

/** Keeps the parts of a pool that are there until then. */
export async function keepParts(
  { blobs, clock }: Dependencies,
  cids: readonly string[],
  untilMs: number,
): Promise<void> {
  const until = roundedUp(untilMs, clock.now())
  await Promise.all(cids.map((cid) => blobs.keep(cid, until)))
}

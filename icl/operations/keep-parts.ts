import type { PoolSnapshot } from '../../lib/pool-snapshot.ts'
import { dayMs, hourMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'

// What many have in common is extended once an hour or a day, not by each of them.
function roundedUp(untilMs: number, nowMs: number): number {
  const stepMs = untilMs - nowMs < dayMs ? hourMs : dayMs
  return Math.ceil(untilMs / stepMs) * stepMs
}

/** Puts the parts of a pool where blobs are kept; false when there is no room: those that had some are gone in their time. */
export async function putParts(
  { blobs, clock }: Dependencies,
  parts: PoolSnapshot['parts'],
  untilMs: number,
): Promise<boolean> {
  const options = { uploader: 'icl', until: roundedUp(untilMs, clock.now()) } as const
  const put = await Promise.all([...parts].map(([cid, bytes]) => blobs.put(cid, bytes, options)))
  return put.every(Boolean)
}

/** The writes that keep the parts of a published pool until then, so that a job's list can be drawn again. */
export const keepingParts = (
  { blobs, clock }: Dependencies,
  cids: readonly string[],
  until: number,
) => blobs.keeping(cids, roundedUp(until, clock.now()))

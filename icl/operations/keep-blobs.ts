import type { PoolSnapshot } from '../../lib/pool-snapshot.ts'
import { dayMs, hourMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'

/** Until when a job's blobs are kept, in milliseconds: the retention time after its deadline. */
export const keepBlobsUntil = ({ network }: Dependencies, job: Job): number =>
  job.deadline + network.blob_retention_days * dayMs

/** The writes that keep a blob of a job. The blob may be absent here, because its client or node may have put it elsewhere. */
export const keepingOwn = async ({ blobs }: Dependencies, cid: string, until: number) =>
  (await blobs.keeping([cid], until)).map((write) => ({ ...write, mayBeAbsent: true }))

// Many jobs share these parts. Rounding extends them once an hour or a day, not once for each job.
function roundedUp(untilMs: number, nowMs: number): number {
  const stepMs = untilMs - nowMs < dayMs ? hourMs : dayMs
  return Math.ceil(untilMs / stepMs) * stepMs
}

/** Stores the parts of a pool as blobs. Returns false when there is no room for all of them; the stored ones then expire. */
export async function putParts(
  { blobs, clock }: Dependencies,
  parts: PoolSnapshot['parts'],
  untilMs: number,
): Promise<boolean> {
  const options = { uploader: 'icl', until: roundedUp(untilMs, clock.now()) } as const
  const put = await Promise.all([...parts].map(([cid, bytes]) => blobs.put(cid, bytes, options)))
  return put.every(Boolean)
}

/** The writes that keep the parts of a published pool until `until`, so that a job's list can be drawn again. */
export const keepingParts = (
  { blobs, clock }: Dependencies,
  cids: readonly string[],
  until: number,
) => blobs.keeping(cids, roundedUp(until, clock.now()))

import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'

/** Until when a job's blobs are kept, in milliseconds: the retention time after its deadline. */
export const keepBlobsUntil = ({ network }: Dependencies, job: Job): number =>
  job.deadline + network.blob_retention_days * dayMs

/** The writes that keep a blob of a job. The blob may be absent here, because its client or node may have put it elsewhere. */
export const keepingOwn = async ({ blobs }: Dependencies, cid: string, until: number) =>
  (await blobs.keeping([cid], until)).map((write) => ({ ...write, mayBeAbsent: true }))

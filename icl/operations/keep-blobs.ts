import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'

const dayMs = 86_400_000

/** Until when a job's blobs are kept, in milliseconds: the retention after the latest time at which it can settle. */
export const keepBlobsUntil = ({ network }: Dependencies, job: Job): number =>
  job.deadline + network.blob_retention_days * dayMs

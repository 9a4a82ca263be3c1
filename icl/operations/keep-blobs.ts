import { dayMs } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Job } from '../rules/job.ts'

/** Until when a job's blobs are kept, in milliseconds: the retention after the latest time at which it can settle. */
export const keepBlobsUntil = ({ network }: Dependencies, job: Job): number =>
  job.deadline + network.blob_retention_days * dayMs

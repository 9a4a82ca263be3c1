import { z } from 'zod'
import { Cid, Hash32, JobId, ModelId, NextCursor, UnixSeconds } from '../codecs.ts'
import { JobPhase, JobReason, ReadToken } from './jobs.ts'
import { named } from './named.ts'

/** Selects the caller's own jobs. */
export const JobListQuery = z.object({ status: JobPhase.optional() })

/** A job in a list. The token reads the rest of it. */
const JobSummary = named('JobSummary', {
  jobId: JobId,
  status: JobPhase,
  reason: JobReason.optional(),
  model_id: ModelId,
  prompt_cid: Cid,
  output_cid: Cid.optional(),
  receipt_hash: Hash32.optional(),
  created_at: UnixSeconds,
  deadline: UnixSeconds,
  settled_at: UnixSeconds.optional(),
  read_token: ReadToken,
})
export type JobSummary = z.output<typeof JobSummary>

/** A page of the caller's own jobs, newest first. */
export const JobList = named('JobList', {
  jobs: z.array(JobSummary).max(50),
  next_cursor: NextCursor,
})

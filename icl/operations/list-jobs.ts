import type { z } from 'zod'
import type { Address } from '../../lib/codecs.ts'
import type { JobList, JobPhase, JobSummary } from '../../lib/schemas/jobs.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { readTokenOf } from '../records/icl-keys.ts'
import { currentTurn } from '../rules/agreed.ts'
import type { Job } from '../rules/job.ts'
import { shownJob } from '../rules/shown-job.ts'
import { cursorOf, pageOf, positionOf } from './page-position.ts'

const pageSize = 50

/** Returns a page of a client's own jobs, newest first. */
export async function listJobs(
  deps: Dependencies,
  client: Address,
  query: { readonly status?: JobPhase | undefined; readonly cursor?: string | undefined },
): Promise<z.output<typeof JobList>> {
  const jobs = await deps.store.listJobs({
    client,
    phase: query.status,
    before: positionOf(query.cursor),
    limit: pageSize + 1,
  })
  const { page, next_cursor } = pageOf(jobs, pageSize, ({ createdAt: at, id }) =>
    cursorOf({ at, id }),
  )
  return { jobs: await Promise.all(page.map((job) => summaryOf(deps, shownJob(job)))), next_cursor }
}

const summaryOf = async (deps: Dependencies, job: Job): Promise<JobSummary> => ({
  jobId: job.id,
  status: job.phase,
  ...(job.reason !== undefined && { reason: job.reason }),
  model_id: job.modelId,
  prompt_cid: job.promptCid,
  ...outputOf(job),
  ...(job.receiptHash !== undefined && { receipt_hash: job.receiptHash }),
  created_at: toSeconds(job.createdAt),
  deadline: toSeconds(job.deadline),
  ...(job.settledAt !== undefined && { settled_at: toSeconds(job.settledAt) }),
  read_token: await readTokenOf(deps.keys, job.id),
})

function outputOf(job: Job): Pick<JobSummary, 'output_cid'> {
  const delivery = job.phase === 'accepted' ? currentTurn(job)?.delivery : undefined
  return delivery ? { output_cid: delivery.body.output_cid } : {}
}

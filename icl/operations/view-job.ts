import type { JobView } from '../../lib/schemas/jobs.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Assignment, Job } from '../rules/job.ts'
import { shownJob } from '../rules/shown-job.ts'
import type { Webhook } from '../rules/webhook.ts'
import { viewList } from './view-list.ts'
import { tallyOfRound } from './view-tally.ts'

/** A job as its client may see it. */
export function viewJob(found: Job): JobView {
  const job = shownJob(found)
  const result = job.result?.body
  const tally = tallyOfRound(job, job.round) ?? tallyOfRound(job, job.round - 1)
  return {
    jobId: job.id,
    client: job.client,
    status: job.phase,
    ...(job.reason !== undefined && { reason: job.reason }),
    model_id: job.modelId,
    min_tier: job.minTier,
    prompt_cid: job.promptCid,
    comparator: job.comparator,
    created_at: toSeconds(job.createdAt),
    deadline: toSeconds(job.deadline),
    quorum: job.assignments.map(viewAssignment),
    list: viewList(job),
    ...(tally && { tally }),
    ...(result && {
      output_cid: result.output_cid,
      outHighHandle: result.outHighHandle,
      outLowHandle: result.outLowHandle,
    }),
    ...(job.receiptHash !== undefined && { receipt_hash: job.receiptHash }),
    ...(job.commitTx !== undefined && { commit_tx: job.commitTx }),
    ...(job.commitError !== undefined && { commit_error: job.commitError }),
    ...(job.webhook && { webhook: viewWebhook(job.webhook) }),
  }
}

const viewWebhook = ({ state, attempts, lastStatus, lastError }: Webhook) => ({
  state,
  attempts,
  ...(lastStatus !== undefined && { last_status: lastStatus }),
  ...(lastError !== undefined && { last_error: lastError }),
})

/** An assignment as the client may see it. */
export const viewAssignment = (assignment: Assignment): JobView['quorum'][number] => ({
  seat: assignment.seat,
  round: assignment.round,
  position: assignment.position,
  role: assignment.role,
  node: assignment.node,
  fence: assignment.fence,
  status: assignment.status,
  ...(assignment.reason !== undefined && { reason: assignment.reason }),
  ...(assignment.verdict && { verdict: assignment.verdict.body.verdict }),
  ...(assignment.verdict?.body.reason !== undefined && {
    verdict_reason: assignment.verdict.body.reason,
  }),
})

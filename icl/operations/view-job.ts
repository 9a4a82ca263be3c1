import type { JobView } from '../../lib/schemas/jobs.ts'
import { type Job, mayShowAnswers, type Slot } from '../rules/job.ts'
import type { Webhook } from '../rules/webhook.ts'
import { tallyOfRound } from './view-tally.ts'

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** A job as its client may see it. */
export function viewJob(job: Job): JobView {
  const result = mayShowAnswers(job) ? job.result?.body : undefined
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
    created_at: seconds(job.createdAt),
    deadline: seconds(job.deadline),
    quorum: job.slots.map(viewSlot),
    draws: job.draws.map(({ message, signature, poolDigest, poolCid, chosen }) => ({
      message,
      signature,
      pool_digest: poolDigest,
      ...(poolCid !== undefined && { pool_cid: poolCid }),
      chosen: [...chosen],
    })),
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

/** A slot as the client may see it. */
export const viewSlot = (slot: Slot): JobView['quorum'][number] => ({
  seat: slot.seat,
  round: slot.round,
  role: slot.role,
  node: slot.node,
  fence: slot.fence,
  status: slot.status,
  ...(slot.reason !== undefined && { reason: slot.reason }),
  ...(slot.verdict && { verdict: slot.verdict.body.verdict }),
  ...(slot.verdict?.body.reason !== undefined && { verdict_reason: slot.verdict.body.reason }),
})

import type { JobView } from '../../lib/schemas/jobs.ts'
import type { Job, Slot } from '../rules/job.ts'

const seconds = (ms: number): number => Math.floor(ms / 1000)

/** A job as its client may see it. */
export function viewJob(job: Job): JobView {
  const result = job.result?.body
  return {
    jobId: job.id,
    status: job.phase,
    ...(job.reason !== undefined && { reason: job.reason }),
    model_id: job.modelId,
    prompt_cid: job.promptCid,
    comparator: job.comparator,
    created_at: seconds(job.createdAt),
    deadline: seconds(job.deadline),
    quorum: job.slots.map(viewSlot),
    draws: job.draws.map(({ message, signature, poolDigest, chosen }) => ({
      message,
      signature,
      pool_digest: poolDigest,
      chosen: [...chosen],
    })),
    ...(result && {
      output_cid: result.output_cid,
      outHighHandle: result.outHighHandle,
      outLowHandle: result.outLowHandle,
    }),
    ...(job.receiptHash !== undefined && { receipt_hash: job.receiptHash }),
    ...(job.commitTx !== undefined && { commit_tx: job.commitTx }),
    ...(job.commitError !== undefined && { commit_error: job.commitError }),
  }
}

const viewSlot = (slot: Slot): JobView['quorum'][number] => ({
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

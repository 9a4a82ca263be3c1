import type { JobView } from '../../lib/schemas/jobs.ts'
import type { JobListView } from '../../lib/schemas/list.ts'
import { toSeconds } from '../../lib/time.ts'
import { agreementOf, currentTurn } from '../rules/agreed.ts'
import { type Assignment, type Job, roleOf } from '../rules/job.ts'
import { shownJob } from '../rules/shown-job.ts'
import type { Webhook } from '../rules/webhook.ts'

/** A job as its client may see it. */
export function viewJob(found: Job): JobView {
  const job = shownJob(found)
  const delivery = job.phase === 'accepted' ? currentTurn(job)?.delivery?.body : undefined
  const agreement = agreementOf(job)
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
    quorum: job.assignments.map((assignment) => viewAssignment(job, assignment)),
    list: viewList(job),
    ...(agreement && { agreement }),
    ...(delivery && {
      output_cid: delivery.output_cid,
      outHighHandle: delivery.outHighHandle,
      outLowHandle: delivery.outLowHandle,
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
export function viewAssignment(job: Job, assignment: Assignment): JobView['quorum'][number] {
  const { seat, batch, position, node, fence, status, reason } = assignment
  const { endedAt = 0, returnAt } = assignment
  const { turns = [] } = job.agreement ?? {}
  const verdict = turns.at(-1)?.verdicts.find(({ body }) => body.address === node)?.body
  const failed = turns.find((turn) => turn.fence === fence)?.failed
  return {
    seat,
    batch,
    position,
    role: roleOf(job, assignment),
    node,
    fence,
    status,
    ...(reason !== undefined && { reason }),
    ...(returnAt !== undefined && { retry_after: (returnAt - endedAt) / 1000 }),
    ...(verdict && { verdict: verdict.verdict }),
    ...(verdict?.reason !== undefined && { verdict_reason: verdict.reason }),
    ...(failed && { delivery_reason: failed.reason }),
  }
}

/** A job's list, in the form that its client and its receipt have. */
export const viewList = ({ list, passed }: Job): JobListView => ({
  terms: list.terms,
  block: list.block,
  members: [...list.members],
  passed: passed.map(({ position, reason, at }) => ({ position, reason, at: toSeconds(at) })),
  activator: list.activator,
  until: list.until,
})

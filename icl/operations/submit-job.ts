import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import type { Dependencies } from '../dependencies.ts'
import { readTokenOf } from '../keys.ts'
import type { Job } from '../rules/job.ts'
import { newJob } from '../rules/new-job.ts'
import { newWebhook } from '../rules/webhook.ts'
import { webhookKeyOf, webhookSecretText } from '../webhooks/message.ts'
import { whyRefused } from '../webhooks/webhook-url.ts'
import { checkAdmitted, checkRoom, takeQuota } from './admit-client.ts'
import { notifyOfChange } from './change-job.ts'
import { keepBlobsUntil } from './keep-blobs.ts'
import { keepPreviewedPool } from './keep-previewed-pool.ts'
import { findUnfit } from './load-pool.ts'
import { openPreview, type PreviewToken } from './preview-quorum.ts'
import { checkDrawFree, takeDraw } from './take-draw.ts'

/** Takes a job in, or finds it when the same submission was taken in before. */
export async function submitJob(deps: Dependencies, client: Address, body: SubmitJob) {
  const id = jobIdOf({
    chainId: deps.network.chain_id,
    client,
    promptCid: body.prompt_cid,
    kpHighHandle: body.kpHighHandle,
    kpLowHandle: body.kpLowHandle,
    clientNonce: body.client_nonce,
  })
  const { preview: _, ...lasting } = z.encode(SubmitJob, body)
  const submissionHash = await sha256Hex(canonicalJson(lasting))
  const existing = await deps.store.findJob(id)
  if (existing) return viewSubmission(deps, existing.document, submissionHash)

  checkAdmitted(deps, client)
  checkWebhook(deps, body.webhook?.url)
  const preview = await openPreview(deps, body.preview, client)
  if (preview.modelId !== body.model_id) {
    throw new ProblemError('preview-invalid', `The preview is for the model ${preview.modelId}`)
  }
  await checkRoom(deps, client)
  await checkKeyOwner(deps, client, body)
  const comparator = body.comparator ?? deps.network.default_comparator
  await checkQuorum(deps, preview, comparator)
  const now = deps.clock.now()
  const job = newJob({
    id,
    client,
    clientNonce: body.client_nonce,
    modelId: body.model_id,
    minTier: preview.minTier,
    promptCid: body.prompt_cid,
    kpHighHandle: body.kpHighHandle,
    kpLowHandle: body.kpLowHandle,
    parameters: body.parameters ?? {},
    comparator,
    minMatches: body.min_matches ?? 1,
    submissionHash,
    createdAt: now,
    deadline: now + deps.network.limits.job_seconds * 1000,
    draw: preview.draw,
    ...(body.webhook && { webhook: newWebhook(body.webhook.url) }),
  })
  const giveBack = await takeQuota(deps, client, id, job.deadline)
  try {
    return await viewSubmission(deps, await saveNewJob(deps, job, preview), submissionHash)
  } catch (error) {
    if (!(await deps.store.findJob(id))) await giveBack()
    throw error
  }
}

/** Saves a job, unless its preview was used for another; returns the one that is there when somebody else was faster. */
async function saveNewJob(deps: Dependencies, job: Job, preview: PreviewToken): Promise<Job> {
  const { id } = job
  await checkDrawFree(deps, id, preview)
  // The blobs are needed as long as the job's receipt may be checked.
  const until = keepBlobsUntil(deps, job)
  const isPoolKept = await keepPreviewedPool(deps, previewedPool(preview), until)
  await deps.blobs.keep(job.promptCid, until)
  // Used up last, so that a preview is there for another try after a failure.
  const isInTime = await takeDraw(deps, id, preview)
  const saved = isPoolKept ? job : withoutPool(job)
  if (!isInTime()) return await jobThatCame(deps, id)
  if (await deps.store.save({ kind: 'job', job: saved, base: 0 })) {
    notifyOfChange(deps, undefined, saved)
    return saved
  }
  return await jobThatCame(deps, id)
}

/** The job that another request for the same submission saved. */
async function jobThatCame({ store }: Dependencies, id: Job['id']): Promise<Job> {
  const found = await store.findJob(id)
  if (found) return found.document
  throw new ProblemError('unavailable', 'The job could not be saved; submit it again', {
    retryAfterSeconds: 2,
  })
}

const previewedPool = ({ draw, drawnBy, modelId, minTier, comparator }: PreviewToken) => ({
  poolCid: draw.poolCid,
  drawnBy,
  demand: { modelId, minTier, comparator },
})

const withoutPool = (job: Job): Job => ({
  ...job,
  draws: job.draws.map(({ poolCid: _, ...draw }) => draw),
})

async function viewSubmission(deps: Dependencies, job: Job, submissionHash: string) {
  if (job.submissionHash !== submissionHash) {
    throw new ProblemError('job-conflict', `Job ${job.id} exists with another body`)
  }
  const { keys } = deps
  const secret = job.webhook && (await webhookKeyOf(keys, job.client, job.webhook.url))
  return {
    jobId: job.id,
    status: job.phase,
    read_token: await readTokenOf(keys, job.id),
    ...(secret && { webhook_secret: webhookSecretText(secret) }),
  }
}

/** Refused when it is submitted, not when the job has settled: nobody would learn why nothing comes. */
function checkWebhook({ webhooks }: Dependencies, url: string | undefined): void {
  if (url === undefined) return
  if (!webhooks) {
    throw new ProblemError('webhooks-off', 'Leave `webhook` out, and follow the job instead')
  }
  const reason = whyRefused(url, webhooks.allowPrivate)
  if (reason) throw new ProblemError('webhook-refused', `The URL of the webhook: ${reason}`)
}

async function checkKeyOwner(deps: Dependencies, client: Address, body: SubmitJob): Promise<void> {
  const record = await deps.chain.keyRecordOf(body.kpHighHandle, body.kpLowHandle)
  if (record?.owner === client) return
  throw new ProblemError(
    'not-key-owner',
    record
      ? 'PromptKeyStore shows another owner of these key handles'
      : 'PromptKeyStore does not hold these two handles as one record; store the key first',
  )
}

async function checkQuorum(
  deps: Dependencies,
  { modelId, minTier, draw }: PreviewToken,
  comparator: ComparatorId,
) {
  const gone = await findUnfit(deps, draw.chosen, { modelId, minTier, comparator })
  if (gone === undefined) return
  throw new ProblemError(
    'preview-stale',
    `Node ${gone} has left the pool, taken other work, or cannot compare by ${comparator}; ask for a new preview that names the comparator`,
  )
}

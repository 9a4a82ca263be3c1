import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
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
import { keepParts } from './keep-parts.ts'
import { loadPublished } from './publish-pool.ts'
import { jobListOf, takeKey } from './take-list.ts'

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
  // The list of the key stays the same; only who is passed over, when it was asked for, and its signature may change.
  const { list: _, ...lasting } = z.encode(SubmitJob, body)
  const submissionHash = await sha256Hex(canonicalJson(lasting))
  const existing = await deps.store.findJob(id)
  if (existing) return viewSubmission(deps, existing.document, submissionHash)

  checkAdmitted(deps, client)
  checkWebhook(deps, body.webhook?.url)
  const now = deps.clock.now()
  const deadline = now + deps.network.limits.job_seconds * 1000
  await checkRoom(deps, client)
  const list = await jobListOf(deps, client, id, body, deadline)
  const job = newJob({
    id,
    client,
    clientNonce: body.client_nonce,
    promptCid: body.prompt_cid,
    kpHighHandle: body.kpHighHandle,
    kpLowHandle: body.kpLowHandle,
    parameters: body.parameters ?? {},
    submissionHash,
    createdAt: now,
    deadline,
    list,
    passed: body.list.body.passed.map(({ at, ...node }) => ({ ...node, at: at * 1000 })),
    ...(body.webhook && { webhook: newWebhook(body.webhook.url) }),
  })
  const giveBack = await takeQuota(deps, client, id, job.deadline)
  try {
    return await viewSubmission(deps, await saveNewJob(deps, job), submissionHash)
  } catch (error) {
    if (!(await deps.store.findJob(id))) await giveBack()
    throw error
  }
}

/** Saves a job, unless its key has another; returns the one that is there when another request was faster. */
async function saveNewJob(deps: Dependencies, job: Job): Promise<Job> {
  await takeKey(deps, job)
  // The blobs are needed as long as the job's receipt may be checked.
  const until = keepBlobsUntil(deps, job)
  const pool = await loadPublished(deps, job.list.terms.pool_cid)
  await keepParts(deps, pool.parts, until)
  await deps.blobs.keep(job.promptCid, until)
  if (await deps.store.save({ kind: 'job', job, base: 0 })) {
    notifyOfChange(deps, undefined, job)
    return job
  }
  return await jobThatCame(deps, job.id)
}

/** The job that another request for the same submission saved. */
async function jobThatCame({ store }: Dependencies, id: JobId): Promise<Job> {
  const found = await store.findJob(id)
  if (found) return found.document
  throw new ProblemError('unavailable', 'The job could not be saved; submit it again', {
    retryAfterSeconds: 2,
  })
}

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

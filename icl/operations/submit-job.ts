import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address } from '../../lib/codecs.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { encode } from '../../lib/encode.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import { whyRefused } from '../../lib/webhook-url.ts'
import type { Dependencies } from '../dependencies.ts'
import { type NonceUse, nonceReused, takeNonce } from '../records/claim-key.ts'
import { readTokenOf } from '../records/icl-keys.ts'
import { unavailable } from '../records/unavailable.ts'
import type { Job } from '../rules/job.ts'
import { newJob } from '../rules/new-job.ts'
import { newWebhook } from '../rules/webhook.ts'
import { webhookKeyOf, webhookSecretText } from '../webhooks/webhooks.ts'
import { checkAdmitted, checkRoom, placesOf } from './admit-client.ts'
import { notifyOfChange } from './change-job.ts'
import { keepingBlobs } from './keep-blobs.ts'
import { jobListOf, keyUsed, keyWriteOf } from './take-list.ts'

/** A submission without its signed list. On a repeat the list may differ in who is passed over, its time and its signature. */
const LastingSubmission = SubmitJob.omit({ list: true })

type Submitter = { readonly address: Address; readonly nonce: NonceUse }

/** Saves a new job, or returns the one that the same submission made before. Uses up the nonce in either case, also on a failure. */
export async function submitJob(
  deps: Dependencies,
  { address: client, nonce }: Submitter,
  body: SubmitJob,
) {
  let isSaved = false
  const save = async (job: Job) => {
    const saved = await saveNewJob(deps, job, nonce)
    isSaved = saved === job
    return saved
  }
  try {
    return await takeIn(deps, client, body, save)
  } finally {
    if (!isSaved) await takeNonce(deps, nonce)
  }
}

async function takeIn(
  deps: Dependencies,
  client: Address,
  body: SubmitJob,
  save: (job: Job) => Promise<Job>,
) {
  const id = jobIdOf({
    chainId: deps.network.chain_id,
    client,
    promptCid: body.prompt_cid,
    kpHighHandle: body.kpHighHandle,
    kpLowHandle: body.kpLowHandle,
    clientNonce: body.client_nonce,
  })
  const submissionHash = await sha256Hex(canonicalJson(encode(LastingSubmission, body)))
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
  return await viewSubmission(deps, await save(job), submissionHash)
}

const maxTries = 50

/**
 * Saves a job in one save with the places of its client, its prompt key, the nonce of its submission and the writes that keep its prompt.
 * Returns the saved job when another request was faster. Throws `key-used`, `nonce-reused`, `too-many-jobs` or `quota-exceeded`.
 */
async function saveNewJob(deps: Dependencies, job: Job, use: NonceUse): Promise<Job> {
  const { store } = deps
  const keeping = await keepingBlobs(deps, undefined, job)
  const key = keyWriteOf(deps, job)
  const nonce = { kind: 'key', ...use, now: key.now } as const
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const places = await placesOf(deps, job.client, job.id, job.deadline)
    const write = { kind: 'job', job, base: 0 } as const
    const refused = await store.saveAll([nonce, ...places, key, ...keeping, write])
    if (!refused) {
      notifyOfChange(deps, undefined, job)
      return job
    }
    if (refused.kind === 'key' && refused.key === nonce.key) throw nonceReused()
    if (refused.kind === 'job') {
      // Another request for the same submission was faster.
      const found = await store.findJob(job.id)
      if (found) return found.document
      throw unavailable('The job could not be saved. Submit it again', 2)
    }
    // The other job's key may have expired in this moment.
    const holder = await store.findKey(key.key, key.now)
    if (refused.kind === 'key' && refused.key === key.key && holder) throw keyUsed(holder)
  }
  throw unavailable('The client submits too many jobs at once', 1)
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

/** Refuses a webhook at submission. Refused only when the job has settled, the client would not learn why no message comes. */
function checkWebhook({ webhooks }: Dependencies, url: string | undefined): void {
  if (url === undefined) return
  if (!webhooks) {
    const why = 'This ICL sends no webhooks: leave `webhook` out, and follow the job instead'
    throw new ProblemError('webhooks-off', why)
  }
  const reason = whyRefused(url, webhooks.allowPrivate)
  if (reason) throw new ProblemError('webhook-refused', `The URL of the webhook: ${reason}`)
}

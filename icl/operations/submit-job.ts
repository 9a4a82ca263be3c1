import { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address } from '../../lib/codecs.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import type { Dependencies } from '../dependencies.ts'
import { readTokenOf } from '../keys.ts'
import type { Job } from '../rules/job.ts'
import { newJob } from '../rules/new-job.ts'
import { announce } from './change-job.ts'
import { keepBlobsUntil } from './keep-blobs.ts'
import { loadCandidates } from './load-pool.ts'
import { openPreview, type PreviewToken } from './preview-quorum.ts'

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
  if (existing) return answer(deps, existing.document, submissionHash)

  const preview = await openPreview(deps, body.preview, client)
  if (preview.modelId !== body.model_id) {
    throw new ProblemError('preview-invalid', `The preview is for the model ${preview.modelId}`)
  }
  if ((await deps.store.countUnsettledJobsOfClient(client)) >= deps.limits.maxJobsPerClient) {
    throw new ProblemError(
      'too-many-jobs',
      `At most ${deps.limits.maxJobsPerClient} jobs of a client run at once; wait until one has settled`,
      { retryAfterSeconds: 10 },
    )
  }
  await checkKeyOwner(deps, client, body)
  await checkQuorum(deps, preview)
  const holder = await deps.store.claimKey(`preview:${preview.id}`, id, preview.expiresAt)
  if (holder !== id)
    throw new ProblemError('preview-invalid', 'The preview was used for another job')

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
    comparator: body.comparator ?? deps.network.default_comparator,
    minMatches: body.min_matches ?? 1,
    submissionHash,
    createdAt: now,
    deadline: now + deps.network.limits.job_seconds * 1000,
    draw: preview.draw,
  })
  // The blob is needed as long as the job's receipt may be checked.
  await deps.blobs.keep(body.prompt_cid, keepBlobsUntil(deps, job))
  if (await deps.store.insertJob(job)) {
    announce(deps, undefined, job)
    return answer(deps, job, submissionHash)
  }
  const other = await deps.store.findJob(id)
  if (!other) throw new ProblemError('unavailable', 'The job could not be saved; submit it again')
  return answer(deps, other.document, submissionHash)
}

async function answer(deps: Dependencies, job: Job, submissionHash: string) {
  if (job.submissionHash !== submissionHash) {
    throw new ProblemError('job-conflict', `Job ${job.id} exists with another body`)
  }
  return { jobId: job.id, status: job.phase, read_token: await readTokenOf(deps.keys, job.id) }
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

async function checkQuorum(deps: Dependencies, { modelId, minTier, draw }: PreviewToken) {
  const pool = await loadCandidates(deps, { modelId, minTier })
  const free = new Set(pool.filter(({ busy }) => !busy).map(({ address }) => address))
  const gone = draw.chosen.find((address) => !free.has(address))
  if (gone === undefined) return
  throw new ProblemError(
    'preview-stale',
    `Node ${gone} has left the pool or taken other work; ask for a new preview`,
  )
}

import type { z } from 'zod'
import { jobIdOf } from '../job-id.ts'
import type { Parameters, SubmitJob, SubmittedJob } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import type { QuorumWish } from './choose-terms.ts'
import type { JobOrder } from './commit-list.ts'
import type { ClientContext } from './context.ts'
import { patient } from './patient.ts'

/** How the nodes run a job, and how their answers are compared. */
export type JobWish = QuorumWish & {
  readonly parameters?: Parameters | undefined
  /** A server that the ICL notifies once the job has settled. */
  readonly webhook?: SubmitJob['webhook']
}

/** Submits a job with its list. Throws SvcError `job-id-wrong` when the ICL answers about another job. */
export async function submitJob(
  { api }: ClientContext,
  { identity, list }: JobOrder,
  wish: JobWish,
  signal?: AbortSignal,
): Promise<z.output<typeof SubmittedJob>> {
  const jobId = jobIdOf(identity)
  const submitted = await api.submitJob(
    {
      body: {
        model_id: wish.model,
        prompt_cid: identity.promptCid,
        kpHighHandle: identity.kpHighHandle,
        kpLowHandle: identity.kpLowHandle,
        client_nonce: identity.clientNonce,
        list: list.signed,
        until: list.until,
        ...(wish.parameters && { parameters: wish.parameters }),
        ...(wish.webhook && { webhook: wish.webhook }),
      },
    },
    { ...patient, signal },
  )
  if (submitted.jobId === jobId) return submitted
  throw new SvcError('job-id-wrong', `The ICL answered about ${submitted.jobId}, not ${jobId}`, {
    hint: 'Check the chain id and the version of the ICL.',
  })
}

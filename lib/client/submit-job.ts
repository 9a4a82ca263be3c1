import type { z } from 'zod'
import type { ComparatorId, JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { ProblemError } from '../problem.ts'
import type { Parameters, SubmittedJob } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import { chooseQuorum, type Preview, type QuorumWish } from './choose-quorum.ts'
import type { ClientContext } from './context.ts'

/** How a job is to be run and judged. */
export type JobWish = QuorumWish & {
  readonly parameters?: Parameters | undefined
  readonly comparator?: ComparatorId | undefined
  readonly minMatches?: number | undefined
}

type Submitted = z.output<typeof SubmittedJob>

/** Submits a job, with a new preview if a previewed node has left; throws SvcError `job-id-wrong` for an answer about another job. */
export async function submitJob(
  context: ClientContext,
  identity: JobIdentity,
  wish: JobWish,
  preview: Preview,
  signal?: AbortSignal,
): Promise<Submitted> {
  const jobId = jobIdOf(identity)
  try {
    return await submitOnce(context, jobId, identity, wish, preview, signal)
  } catch (error) {
    const outdated = error instanceof ProblemError && error.code.startsWith('preview-')
    if (!outdated) throw error
    // The coordinator may let the new nodes read the key, so it stays as it is stored.
    const fresh = await chooseQuorum(context, wish, signal)
    return await submitOnce(context, jobId, identity, wish, fresh, signal)
  }
}

async function submitOnce(
  { api }: ClientContext,
  jobId: JobId,
  identity: JobIdentity,
  wish: JobWish,
  { preview }: Preview,
  signal: AbortSignal | undefined,
): Promise<Submitted> {
  const submitted = await api.submitJob(
    {
      body: {
        model_id: wish.model,
        prompt_cid: identity.promptCid,
        kpHighHandle: identity.kpHighHandle,
        kpLowHandle: identity.kpLowHandle,
        client_nonce: identity.clientNonce,
        preview,
        ...(wish.parameters && { parameters: wish.parameters }),
        ...(wish.comparator && { comparator: wish.comparator }),
        ...(wish.minMatches && { min_matches: wish.minMatches }),
      },
    },
    { signal, attempts: 3 },
  )
  if (submitted.jobId === jobId) return submitted
  throw new SvcError('job-id-wrong', `The ICL answered about ${submitted.jobId}, not ${jobId}`, {
    hint: 'Check the chain id and the version of the ICL.',
  })
}

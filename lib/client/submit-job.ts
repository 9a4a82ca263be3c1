import type { z } from 'zod'
import type { JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { ProblemError } from '../problem.ts'
import type { Parameters, SubmitJob, SubmittedJob } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import { chooseQuorum, type Preview, type QuorumWish } from './choose-quorum.ts'
import type { ClientContext } from './context.ts'

/** How a job is to be run and its answers compared. */
export type JobWish = QuorumWish & {
  readonly parameters?: Parameters | undefined
  readonly minMatches?: number | undefined
  /** A server that the ICL is to tell once the job has settled. */
  readonly webhook?: SubmitJob['webhook']
}

const maxPreviews = 12
const mostPauseMs = 3_000

type Submitted = z.output<typeof SubmittedJob>

/** Submits a job, with a new preview each time that a previewed node has left or another job has used the draw; throws SvcError `job-id-wrong` for an answer about another job. */
export async function submitJob(
  context: ClientContext,
  identity: JobIdentity,
  wish: JobWish,
  preview: Preview,
  signal?: AbortSignal,
): Promise<Submitted> {
  const jobId = jobIdOf(identity)
  let current = preview
  for (let attempt = 1; ; attempt++) {
    try {
      return await submitOnce(context, jobId, identity, wish, current, signal)
    } catch (error) {
      const outdated = error instanceof ProblemError && error.code.startsWith('preview-')
      if (!outdated || attempt === maxPreviews) throw error
      // Jobs that this client prepares side by side draw the same quorum, and only one of them gets it; a coordinator that died
      // over a job gives its draw to another after 10 s.
      const [jitter = 0] = context.random.bytes(1)
      await context.clock.sleep(Math.min(10 * 2 ** attempt, mostPauseMs) + jitter, signal)
      // The coordinator may let the new nodes read the key, so it stays as it is stored.
      current = await chooseQuorum(context, wish, signal)
    }
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
        ...(wish.webhook && { webhook: wish.webhook }),
      },
    },
    { signal, attempts: 3 },
  )
  if (submitted.jobId === jobId) return submitted
  throw new SvcError('job-id-wrong', `The ICL answered about ${submitted.jobId}, not ${jobId}`, {
    hint: 'Check the chain id and the version of the ICL.',
  })
}

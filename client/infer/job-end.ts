import type { Client } from '../../lib/client/client.ts'
import type { StepNews } from '../../lib/client/steps.ts'
import type { JobId } from '../../lib/codecs.ts'
import { explainError } from '../../lib/host/explain-error.ts'
import { invocationOf } from '../../lib/host/invocation.ts'
import { SvcError } from '../../lib/svc-error.ts'

const lookTimeoutMs = 5_000

/** A job that the ICL has taken. */
export type Job = { readonly jobId: JobId; readonly readToken?: string }

/** How far a job is: not submitted, its key stored, submitted, of an earlier command, accepted, or checked. */
export type Stage = 'unsent' | 'keyed' | 'sent' | 'earlier' | 'accepted' | 'checked'

/** Returns the stage after a step's news. */
export function stageAfter(stage: Stage, { step, phase }: StepNews): Stage {
  if (step === 'commit') return 'checked'
  if (step === 'inference' && phase === 'end') return 'accepted'
  if (step === 'list' && stage === 'unsent') return 'keyed'
  return step === 'submit' ? 'sent' : stage
}

/** The state of a job whose command ended early. `opens` is the command that opens its answer. */
export type JobEnd = { readonly words: string; readonly isPaid: boolean; readonly opens?: string }

/** Asks the ICL what became of a job that was to be cancelled. */
export async function endOf(
  job: Job | undefined,
  client: Client | undefined,
  stage: Stage,
): Promise<JobEnd> {
  const unpaid = (words: string): JobEnd => ({ words, isPaid: false })
  const goingOn = (jobId: JobId): JobEnd => ({
    ...unpaid(`The job ${jobId} continues`),
    opens: opensWith(jobId),
  })
  const ended = (jobId: JobId, status: string): JobEnd => ({
    words: `The job ${jobId} is ${status} at the ICL`,
    isPaid: status === 'accepted',
    ...(status === 'accepted' && { opens: opensWith(jobId) }),
  })
  if (stage === 'unsent') return unpaid('No job was submitted')
  if (stage === 'keyed')
    return unpaid('No job was submitted. Only its transactions on chain were paid for')
  if (job === undefined || client === undefined) {
    return unpaid('It is not known whether the job reached the ICL. The ICL was asked to cancel it')
  }
  const { jobId, readToken } = job
  if (stage === 'earlier') return goingOn(jobId)
  if (stage !== 'sent') return ended(jobId, 'accepted')
  try {
    const { status } = await client.context.api.getJob(
      { params: { jobId } },
      { ...(readToken !== undefined && { readToken }), timeoutMs: lookTimeoutMs },
    )
    return status === 'open' || status === 'running' ? goingOn(jobId) : ended(jobId, status)
  } catch (error) {
    const { message } = explainError(error)
    const words = `Whether the job ${jobId} was cancelled is not known: ${message}`
    return { ...unpaid(words), opens: opensWith(jobId) }
  }
}

/** The error of `--timeout`, with what to do at this stage. `detail` is the last news of the job. */
export function timedOut(
  seconds: number,
  stage: Stage,
  end: JobEnd,
  detail: string | undefined,
): SvcError {
  const { words, isPaid } = end
  const why = stage === 'sent' || detail === undefined ? '' : ` (${detail})`
  const message = isPaid
    ? `${words}, but its answer was not fetched within ${seconds} s${why}`
    : `There was no answer within ${seconds} s. ${words}${stage === 'unsent' || stage === 'keyed' ? why : ''}`
  return new SvcError('timed-out', message, { hint: hintFor(stage, end), retryable: true })
}

function hintFor(stage: Stage, { isPaid, opens }: JobEnd): string {
  if (stage === 'unsent' || stage === 'keyed') return 'Try again, or allow more with --timeout.'
  if (stage === 'earlier') return `Wait for it again: \`${opens}\` costs nothing.`
  const again = 'Another run pays again.'
  if (opens === undefined) return `${again} Allow more with --timeout.`
  const when = isPaid ? 'The answer is paid for' : 'An accepted answer is paid for'
  return `${when}: \`${opens}\` fetches it. ${again}`
}

const opensWith = (jobId: JobId): string => `${invocationOf('infer')} --open ${jobId}`

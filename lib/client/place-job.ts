/*
 * Problem: a job takes a transaction that binds its key to the list, an upload, and a submission. In sequence they keep the client waiting,
 * and each may fail.
 *
 * Idea: the client sends the transaction, and meanwhile uploads the prompt and submits the job. The ICL takes the submission before the
 * transaction is in a block.
 *
 * Failure cases: when the transaction fails after the submission was sent, no node can do the job, so the client cancels it. When the
 * submission fails and the transaction got into a block, the key is spent, and the error says so.
 */

import type { z } from 'zod'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { ProblemError } from '../problem.ts'
import type { SubmittedJob } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import { toClientError } from './client-error.ts'
import type { ClientContext } from './context.ts'
import { GoesOnError } from './inference.ts'
import { isPassing } from './outlast.ts'
import type { StepRunner } from './steps.ts'
import { commitList, type JobOrder, type JobWish, submitJob, uploadBlob } from './submit-job.ts'
import { withGrace } from './with-grace.ts'

const cancelTimeoutMs = 5_000
// The ICL accepts a job even if the client has disconnected. Only its answer shows whether there is a job to cancel.
const submitGraceMs = 5_000
const commitGraceMs = 10_000

type Submitted = z.output<typeof SubmittedJob>

/** Commits to a job's list, and meanwhile uploads the encrypted prompt and submits the job. Resolves once all three are done. */
export async function placeJob(
  context: ClientContext,
  steps: Pick<StepRunner, 'run'>,
  job: JobOrder & { readonly wish: JobWish; readonly blob: Uint8Array<ArrayBuffer> },
  signal?: AbortSignal,
): Promise<Submitted> {
  const stop = new AbortController()
  const ended = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal
  let isSent = false
  let readToken: string | undefined
  const committing = steps.run('commit-list', () => commitList(context, job, ended))
  // Without the commitment the rest is of no use.
  committing.catch((error: unknown) => stop.abort(error))
  try {
    await steps.run('upload', () => uploadBlob(context, job.blob, job.list, ended))
    const submitted = await steps.run('submit', () =>
      withGrace(context.clock, submitGraceMs, ended, (late) => {
        isSent = true
        return submitJob(context, job, job.wish, late)
      }),
    )
    readToken = submitted.read_token
    await committing
    return submitted
  } catch (error) {
    const isStopped = ended.aborted
    const failure = stop.signal.aborted ? stop.signal.reason : error
    const isSpent = !isStopped && (await isDoneSoon(context, committing, stop))
    const told = isSpent ? withSpentKey(failure) : failure
    // The submission may have arrived although its answer did not.
    const mayRun = isSent && (isStopped || isPassing(error))
    throw mayRun ? await givenUp(context, job.identity, told, readToken) : told
  }
}

/**
 * Cancels a job that its client gives up on for `error`, and returns the error to throw: a GoesOnError when it is too late to cancel.
 * Ignores other errors, since the job may have settled or the ICL may be away.
 */
export async function givenUp(
  { api }: Pick<ClientContext, 'api'>,
  identity: JobIdentity,
  error: unknown,
  readToken?: string,
): Promise<unknown> {
  const jobId = jobIdOf(identity)
  const options = { timeoutMs: cancelTimeoutMs, ...(readToken !== undefined && { readToken }) }
  try {
    await api.cancelJob({ params: { jobId } }, options)
  } catch (refusal) {
    const isLate = refusal instanceof ProblemError && refusal.code === 'too-late-to-cancel'
    if (isLate) return new GoesOnError(toClientError(error), jobId)
  }
  return error
}

/** Waits up to 10 s for the commitment to get into a block, then aborts it; true when it did. */
async function isDoneSoon(
  { clock }: Pick<ClientContext, 'clock'>,
  committing: Promise<unknown>,
  stop: AbortController,
): Promise<boolean> {
  const done = new AbortController()
  const late = clock.sleep(commitGraceMs, done.signal).then(
    () => false,
    () => false,
  )
  const committed = committing.then(
    () => true,
    () => false,
  )
  const isDone = await Promise.race([committed, late])
  done.abort()
  stop.abort()
  return isDone
}

function withSpentKey(error: unknown): unknown {
  const told = toClientError(error)
  if (!(told instanceof SvcError)) return told
  const { code, message, retryable } = told
  const hint = `${told.hint} The prompt key is spent: another try stores another one.`
  return new SvcError(code, message, { hint, retryable, cause: error })
}

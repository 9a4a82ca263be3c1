import type { JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { ProblemError } from '../problem.ts'
import type { JobEvent, JobView } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import { checkCommitment } from './check-commitment.ts'
import { expectedJob, fetchCheckedReceipt } from './check-receipt.ts'
import { chooseQuorum } from './choose-quorum.ts'
import { toClientError } from './client-error.ts'
import type { ClientContext } from './context.ts'
import { encryptKey } from './encrypt-key.ts'
import { followJob } from './follow-job.ts'
import {
  type AcceptedInference,
  type Inference,
  lastRound,
  type ProofTimings,
  UncommittedError,
  type UncommittedInference,
} from './inference.ts'
import { nameJob } from './name-job.ts'
import { checkPrompt } from './prompt-text.ts'
import { checkOutput, decryptOutput } from './read-output.ts'
import { sealPrompt } from './seal-prompt.ts'
import { createStepRunner, type StepNews, type StepRunner } from './steps.ts'
import { storePromptKey } from './store-prompt-key.ts'
import { commonReason } from './stuck-job.ts'
import { type JobWish, submitJob } from './submit-job.ts'
import { uploadBlob } from './upload-blob.ts'
import { withGrace } from './with-grace.ts'

const cancelTimeoutMs = 5_000
// The ICL takes in a job whose sender has left: only its answer tells what there is to cancel.
const submitGraceMs = 5_000

/** How to run one inference. */
export type InferOptions = {
  readonly model: string
  /** 0 when left out. */
  readonly minTier?: number
  /** 2 when left out. */
  readonly verifierCount?: number
  readonly parameters?: JobWish['parameters']
  readonly comparator?: JobWish['comparator']
  readonly minMatches?: JobWish['minMatches']
  /** A server that the ICL tells once the job has settled; `onSubmitted` gets the secret of its messages. */
  readonly webhook?: JobWish['webhook']
  /** How many more nodes the ICL may let read the prompt, to replace some or to break a tie; 6 when left out, 0 for none. */
  readonly maxGrants?: number
  readonly onStep?: (news: StepNews) => void
  /** Told as soon as the ICL has the job; whoever has the token can read and cancel it. */
  readonly onSubmitted?: (job: {
    readonly jobId: JobId
    readonly readToken: string
    readonly webhookSecret?: string
  }) => void
  /** Told of each event of the job, such as a node that claimed its assignment. */
  readonly onEvent?: (event: JobEvent) => void
  /** Cancels the job when a lack of nodes lasts this long; the job then waits no longer for others to appear. */
  readonly giveUpWhenStuckMs?: number
  /** How long the result may take to appear on chain; 60 s when left out. */
  readonly commitTimeoutMs?: number
  /** Aborting it cancels the job. */
  readonly signal?: AbortSignal
}

type Run = {
  readonly context: ClientContext
  readonly options: InferOptions
  readonly wish: JobWish
  readonly steps: StepRunner
}

type PreparedJob = {
  /** Unix seconds. */
  readonly preparedAt: number
  readonly identity: JobIdentity
  readonly prompt: string
  readonly promptKey: Uint8Array<ArrayBuffer>
  readonly readToken: string
  readonly webhookSecret: string | undefined
  readonly proof: ProofTimings | undefined
}

/** Encrypts a prompt, has a quorum answer it, and resolves with the decrypted answer once every check has passed; throws SvcError, UncommittedError when only the commitment is not there. */
export async function infer(
  context: ClientContext,
  prompt: string,
  options: InferOptions,
): Promise<Inference> {
  checkPrompt(prompt, context.network.limits.prompt_bytes)
  const { model, minTier = 0, verifierCount = 2, parameters, comparator } = options
  const { minMatches, webhook } = options
  const run: Run = {
    context,
    options,
    wish: { model, minTier, verifierCount, parameters, comparator, minMatches, webhook },
    steps: createStepRunner(context.clock, options.onStep),
  }
  try {
    const job = await prepare(run, prompt)
    const view = await follow(run, job)
    if (view.status === 'accepted') return await collect(run, job, view)
    return {
      jobId: jobIdOf(job.identity),
      readToken: job.readToken,
      status: settledWithoutAnswer(view),
      reason: view.reason,
      cause: commonReason(view),
      model,
      ...lastRound(view),
      timingsMs: run.steps.timings(),
      ...(job.proof && { proof: job.proof }),
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw toClientError(error)
  }
}

async function prepare(run: Run, prompt: string): Promise<PreparedJob> {
  const { context, steps, wish } = run
  const { signal } = run.options
  const preparedAt = await context.chain.time(signal)
  const preview = await steps.run('preview', () => chooseQuorum(context, wish, signal))
  const { blob, promptKey } = await steps.run('seal-prompt', () => sealPrompt(context, prompt))
  const { halves, proof } = await steps.run('encrypt-key', (progress) =>
    encryptKey(context, promptKey, progress, signal),
  )
  const stored = await steps.run('store-key', () =>
    storePromptKey(context, halves, preview, run.options.maxGrants, signal),
  )
  const promptCid = await steps.run('upload', () => uploadBlob(context, blob, signal))
  const { identity } = nameJob(context, { ...stored, promptCid })
  try {
    const submitted = await steps.run('submit', () =>
      withGrace(context.clock, submitGraceMs, signal, (ended) =>
        submitJob(context, identity, wish, preview, ended),
      ),
    )
    const { read_token: readToken, webhook_secret: webhookSecret } = submitted
    return { preparedAt, identity, prompt, promptKey, readToken, webhookSecret, proof }
  } catch (error) {
    // The submission may have arrived although its answer did not.
    if (signal?.aborted || isPassing(error)) await cancel(context, identity, undefined)
    throw error
  }
}

async function follow({ context, options, steps }: Run, job: PreparedJob): Promise<JobView> {
  const jobId = jobIdOf(job.identity)
  const { readToken, webhookSecret } = job
  try {
    options.onSubmitted?.({ jobId, readToken, ...(webhookSecret && { webhookSecret }) })
    return await steps.run(
      'inference',
      (progress) =>
        followJob(context, {
          jobId,
          readToken,
          onEvent: (event) => {
            progress(describeEvent(event))
            options.onEvent?.(event)
          },
          giveUpWhenStuckMs: options.giveUpWhenStuckMs,
          signal: options.signal,
        }),
      ({ status }) => status === 'accepted',
    )
  } catch (error) {
    await cancel(context, job.identity, job.readToken)
    throw error
  }
}

async function collect(run: Run, job: PreparedJob, view: JobView): Promise<AcceptedInference> {
  const { context, options, steps, wish } = run
  const { signal, commitTimeoutMs } = options
  const { identity, promptKey, readToken } = job
  const jobId = jobIdOf(identity)
  const expected = expectedJob(context, { identity, wish, preparedAt: job.preparedAt })
  const { receipt, hash } = await steps.run('receipt', () =>
    fetchCheckedReceipt(context, expected, view, readToken, signal),
  )
  const blob = await steps.run('fetch-output', () =>
    context.blobs.download(receipt.output_cid, signal),
  )
  const output = await steps.run('decrypt-output', async () => {
    const text = await decryptOutput(context, receipt, blob, signal)
    await checkOutput(text, receipt, { prompt: job.prompt, promptKey })
    return text
  })
  const checked: Omit<UncommittedInference, 'timingsMs'> = {
    jobId,
    readToken,
    status: 'accepted',
    model: wish.model,
    output,
    leader: receipt.leader.body.address,
    verdicts: receipt.verifiers.map(({ body: { address: node, verdict, reason } }) => ({
      node,
      verdict,
      ...(reason && { reason }),
    })),
    receiptHash: hash,
    receipt,
    ...(job.proof && { proof: job.proof }),
  }
  try {
    const commitTx = await steps.run('commit', () =>
      checkCommitment(context, { jobId, readToken, hash }, commitTimeoutMs, signal),
    )
    return { ...checked, commitTx, timingsMs: steps.timings() }
  } catch (error) {
    signal?.throwIfAborted()
    const cause = toClientError(error)
    // Another receipt on chain is a reason not to show the answer; a late one is none.
    if (!(cause instanceof SvcError && cause.retryable)) throw error
    throw new UncommittedError({ ...checked, timingsMs: steps.timings() }, cause)
  }
}

/** Cancels as well as it can: the job may have settled, or the ICL be gone. */
async function cancel(
  { api }: ClientContext,
  identity: JobIdentity,
  readToken: string | undefined,
): Promise<void> {
  const options = { timeoutMs: cancelTimeoutMs, ...(readToken !== undefined && { readToken }) }
  await api.cancelJob({ params: { jobId: jobIdOf(identity) } }, options).catch(() => {})
}

const isPassing = (error: unknown): boolean =>
  (error instanceof SvcError || error instanceof ProblemError) && error.retryable

const describeEvent = ({ type, role, node, detail }: JobEvent): string =>
  [type, role, node && `${node.slice(0, 8)}`, detail].filter((part) => part).join(' ')

function settledWithoutAnswer({ status }: JobView) {
  switch (status) {
    case 'rejected':
    case 'disputed':
    case 'expired':
    case 'cancelled':
      return status
    default:
      throw new TypeError(`A job that is ${status} has not failed`)
  }
}

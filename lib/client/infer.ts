import { bytesToBigInt } from 'viem'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { ProblemError } from '../problem.ts'
import { defaultMaxOutputTokens, type JobEvent, type JobView } from '../schemas/jobs.ts'
import { newSealingKey, seal, splitKey } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import { checkCommitment } from './check-commitment.ts'
import { fetchCheckedReceipt } from './check-receipt.ts'
import { chooseQuorum } from './choose-quorum.ts'
import { toClientError } from './client-error.ts'
import type { ClientContext } from './context.ts'
import { followJob } from './follow-job.ts'
import { type AcceptedInference, type Inference, lastRound } from './inference.ts'
import { checkPrompt } from './prompt-text.ts'
import { checkOutput, decryptOutput } from './read-output.ts'
import { createStepRunner, type StepNews, type StepRunner } from './steps.ts'
import { storePromptKey } from './store-prompt-key.ts'
import { type JobWish, submitJob } from './submit-job.ts'
import { uploadBlob } from './upload-blob.ts'

const cancelTimeoutMs = 5_000

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
  /** How many more nodes the ICL may let read the prompt, to replace some or to break a tie; 6 when left out, 0 for none. */
  readonly maxGrants?: number
  readonly onStep?: (news: StepNews) => void
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
  readonly promptKey: Uint8Array<ArrayBuffer>
  readonly readToken: string
}

/** Encrypts a prompt, has a quorum answer it, and resolves with the decrypted answer once every check has passed; throws SvcError. */
export async function infer(
  context: ClientContext,
  prompt: string,
  options: InferOptions,
): Promise<Inference> {
  checkPrompt(prompt, context.network.limits.prompt_bytes)
  const { model, minTier = 0, verifierCount = 2, parameters, comparator, minMatches } = options
  const run: Run = {
    context,
    options,
    wish: { model, minTier, verifierCount, parameters, comparator, minMatches },
    steps: createStepRunner(context.clock, options.onStep),
  }
  try {
    const job = await prepare(run, prompt)
    const view = await follow(run, job)
    if (view.status === 'accepted') return await collect(run, job, view)
    return {
      jobId: jobIdOf(job.identity),
      status: settledWithoutAnswer(view),
      reason: view.reason,
      model,
      ...lastRound(view),
      timingsMs: run.steps.timings(),
    }
  } catch (error) {
    options.signal?.throwIfAborted()
    throw toClientError(error)
  }
}

async function prepare(run: Run, prompt: string): Promise<PreparedJob> {
  const { context, steps, wish } = run
  const { random, address, coprocessor, network } = context
  const { signal } = run.options
  const preparedAt = await context.chain.time(signal)
  const preview = await steps.run('preview', () => chooseQuorum(context, wish, signal))
  const promptKey = newSealingKey(random)
  const blob = await steps.run('seal-prompt', () =>
    seal(prompt, promptKey, { kind: 'prompt', client: address }, random),
  )
  const halves = await steps.run('encrypt-key', (progress) => {
    const { high, low } = splitKey(promptKey)
    return coprocessor.encrypt(high, low, { onStep: progress, ...(signal && { signal }) })
  })
  const stored = await steps.run('store-key', () =>
    storePromptKey(context, halves, preview, run.options.maxGrants, signal),
  )
  const promptCid = await steps.run('upload', () => uploadBlob(context, blob, signal))
  const identity: JobIdentity = {
    chainId: network.chain_id,
    client: address,
    promptCid,
    kpHighHandle: stored.highHandle,
    kpLowHandle: stored.lowHandle,
    clientNonce: bytesToBigInt(random.bytes(32)),
  }
  try {
    const submitted = await steps.run('submit', () =>
      submitJob(context, identity, wish, preview, signal),
    )
    return { preparedAt, identity, promptKey, readToken: submitted.read_token }
  } catch (error) {
    // The submission may have arrived although its answer did not.
    if (signal?.aborted || isPassing(error)) await cancel(context, identity, undefined)
    throw error
  }
}

async function follow({ context, options, steps }: Run, job: PreparedJob): Promise<JobView> {
  try {
    return await steps.run('inference', (progress) =>
      followJob(context, {
        jobId: jobIdOf(job.identity),
        readToken: job.readToken,
        onEvent: (event) => progress(describeEvent(event)),
        giveUpWhenStuckMs: options.giveUpWhenStuckMs,
        signal: options.signal,
      }),
    )
  } catch (error) {
    await cancel(context, job.identity, job.readToken)
    throw error
  }
}

async function collect(run: Run, job: PreparedJob, view: JobView): Promise<AcceptedInference> {
  const { context, options, steps, wish } = run
  const { signal, commitTimeoutMs = 60_000 } = options
  const { identity, promptKey, readToken } = job
  const jobId = jobIdOf(identity)
  const comparator = wish.comparator ?? context.network.default_comparator
  const expected = {
    jobId,
    identity,
    model: wish.model,
    minTier: wish.minTier,
    preparedAt: job.preparedAt,
    maxOutputTokens: wish.parameters?.max_output_tokens ?? defaultMaxOutputTokens,
    comparator,
    minMatches: wish.minMatches,
  }
  const { receipt, hash } = await steps.run('receipt', () =>
    fetchCheckedReceipt(context, expected, view, readToken, signal),
  )
  const blob = await steps.run('fetch-output', () =>
    context.blobs.download(receipt.output_cid, signal),
  )
  const output = await steps.run('decrypt-output', async () => {
    const text = await decryptOutput(context, receipt, blob, signal)
    await checkOutput(text, receipt, promptKey, jobId)
    return text
  })
  const commitTx = await steps.run('commit', () =>
    checkCommitment(context, { jobId, readToken, hash }, commitTimeoutMs, signal),
  )
  return {
    jobId,
    status: 'accepted',
    model: wish.model,
    output,
    leader: receipt.leader.body.address,
    verdicts: receipt.verifiers.map(({ body: { address: node, verdict, reason } }) => ({
      node,
      verdict,
      ...(reason && { reason }),
    })),
    commitTx,
    receiptHash: hash,
    receipt,
    timingsMs: steps.timings(),
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

/*
 * Problem: an accepted job is paid for, and its answer is still at the ICL, on a gateway and under the coprocessor. Each of them, and the
 * chain, may be away at that moment, and only this process has the key that shows that the answer is the right one.
 *
 * Idea: each of the last steps outlasts what passes. What is left over is an error that can collect the answer later.
 *
 * Failure cases: an answer that fails a check is never handed out. One that is only not on chain yet comes with its error.
 */

import { isStructured, readAnswer } from '../answer.ts'
import { jobIdOf } from '../job-id.ts'
import type { JobView } from '../schemas/jobs.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import { SvcError } from '../svc-error.ts'
import { attestedBy } from '../teacher.ts'
import { agreedIn } from './agreed.ts'
import { checkCommitment } from './check-commitment.ts'
import { expectedJob, fetchCheckedReceipt } from './check-receipt.ts'
import { toClientError } from './client-error.ts'
import type { JobOrder } from './commit-list.ts'
import type { ClientContext } from './context.ts'
import {
  type AcceptedInference,
  type ProofTimings,
  UncollectedError,
  UncommittedError,
  type UncommittedInference,
} from './inference.ts'
import { outlast } from './outlast.ts'
import { checkOutput, decryptOutput } from './read-output.ts'
import type { InferenceStep, StepRunner } from './steps.ts'
import type { JobWish } from './submit-job.ts'

/** A job that was submitted, and what its answer is checked with. */
export type PreparedJob = {
  /** Unix seconds. */
  readonly preparedAt: number
  readonly order: JobOrder
  readonly prompt: PromptDocument
  readonly promptKey: Uint8Array<ArrayBuffer>
  readonly readToken: string
  readonly webhookSecret: string | undefined
  readonly proof: ProofTimings | undefined
}

/** A job that the ICL calls accepted. */
export type Collecting = {
  readonly context: ClientContext
  readonly wish: JobWish
  readonly steps: StepRunner
  readonly options: { readonly collectTimeoutMs?: number; readonly commitTimeoutMs?: number }
  readonly job: PreparedJob
  readonly view: JobView
}

type Checked = Omit<UncommittedInference, 'timingsMs'>

/** Fetches, decrypts and checks the answer; throws UncollectedError, UncommittedError, SvcError or the signal's reason. */
export async function collect(
  collecting: Collecting,
  signal: AbortSignal | undefined,
): Promise<AcceptedInference> {
  const { context, steps, options, job } = collecting
  const checked = await check(collecting, signal).catch((error: unknown) => {
    signal?.throwIfAborted()
    const cause = toClientError(error)
    if (!(cause instanceof SvcError && mayPass(cause))) throw cause
    throw new UncollectedError(cause, (later) => collect(collecting, later))
  })
  const { jobId, receiptHash: hash } = checked
  try {
    const commitTx = await steps.run('commit', () =>
      checkCommitment(
        context,
        { jobId, readToken: job.readToken, hash },
        options.commitTimeoutMs,
        signal,
      ),
    )
    return { ...checked, commitTx, timingsMs: steps.timings() }
  } catch (error) {
    signal?.throwIfAborted()
    const cause = toClientError(error)
    // Another receipt on chain is a reason not to show the answer; a late one is none.
    if (!(cause instanceof SvcError && cause.retryable)) throw cause
    throw new UncommittedError({ ...checked, timingsMs: steps.timings() }, cause)
  }
}

/** A wallet that did not sign may do so when it is asked again, which is for its user to say. */
const mayPass = (error: SvcError): boolean => error.retryable || error.code.startsWith('wallet-')

async function check(
  { context, options, steps, wish, job, view }: Collecting,
  signal: AbortSignal | undefined,
): Promise<Checked> {
  const { order, prompt, promptKey, readToken, preparedAt, proof } = job
  const late = <T>(step: InferenceStep, body: () => Promise<T>): Promise<T> =>
    steps.run(step, (progress) =>
      outlast(context.clock, progress, signal, body, options.collectTimeoutMs),
    )
  const expected = expectedJob(order, { wish, preparedAt })
  const { receipt, hash } = await late('receipt', () =>
    fetchCheckedReceipt(context, expected, view, readToken, signal),
  )
  const blob = await late('fetch-output', () =>
    context.blobs.download(receipt.delivery.body.output_cid, signal),
  )
  const output = await late('decrypt-output', async () => {
    const text = await decryptOutput(context, receipt, blob, signal)
    await checkOutput(text, receipt, { prompt, promptKey })
    return text
  })
  return {
    jobId: jobIdOf(order.identity),
    readToken,
    status: 'accepted',
    model: wish.model,
    output,
    ...(isStructured(prompt) && { answer: readAnswer(output) }),
    deliverer: receipt.tally.body.deliverer,
    agreed: agreedIn(receipt),
    ...(receipt.attested && { attested: attestedBy(receipt.attested) }),
    verdicts: receipt.verdicts.map(({ body: { address: node, verdict, reason } }) => ({
      node,
      verdict,
      ...(reason && { reason }),
    })),
    receiptHash: hash,
    receipt,
    ...(proof && { proof }),
  }
}

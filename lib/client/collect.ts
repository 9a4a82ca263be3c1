/*
 * Problem: an accepted job is paid for, but the ICL, the gateway, the coprocessor or the chain may be away when its answer is fetched.
 *
 * Idea: the last steps are tried again, with one time for all of them. After that, an error is left that can collect the answer later.
 *
 * Failure cases: an answer that fails a check is never returned. One that is only not on chain yet comes with its error.
 */

import { isStructured, readAnswer } from '../answer.ts'
import { elapsedSince } from '../clock.ts'
import type { JobId } from '../codecs.ts'
import type { JobView } from '../schemas/jobs.ts'
import type { PromptDocument } from '../schemas/prompt.ts'
import { SvcError } from '../svc-error.ts'
import { attestedIn } from '../teacher.ts'
import { agreedIn, deliveredAnswer, usageIn } from './agreed.ts'
import type { Bell } from './bell.ts'
import { checkCommitment } from './check-commitment.ts'
import { type ExpectedJob, fetchCheckedReceipt } from './check-receipt.ts'
import { toClientError } from './client-error.ts'
import type { ClientContext } from './context.ts'
import {
  type AcceptedInference,
  type ProofTimings,
  UncollectedError,
  UncommittedError,
  type UncommittedInference,
} from './inference.ts'
import { longestOutageMs, outlast } from './outlast.ts'
import { checkOutput, decryptOutput } from './read-output.ts'
import type { InferenceStep, StepRunner } from './steps.ts'

/** What an answer is checked with. */
export type Checks = {
  readonly expected: ExpectedJob
  readonly prompt: PromptDocument
  /** The secret of the job. */
  readonly secret: Uint8Array<ArrayBuffer>
}

/** A job that the ICL calls accepted. */
export type Collecting = {
  readonly context: ClientContext
  readonly jobId: JobId
  readonly readToken: string
  readonly checks: () => Promise<Checks>
  readonly proof?: ProofTimings | undefined
  readonly steps: StepRunner
  readonly options: { readonly collectTimeoutMs?: number; readonly commitTimeoutMs?: number }
  readonly view: JobView
  /** Rings once the job is on chain. Without it the ICL is asked at once. */
  readonly news?: Pick<Bell, 'wait'>
}

type Checked = Omit<UncommittedInference, 'timingsMs'>

/** Fetches, decrypts and checks the answer. Throws UncollectedError, UncommittedError, SvcError or the signal's reason. */
export async function collect(
  collecting: Collecting,
  signal: AbortSignal | undefined,
): Promise<AcceptedInference> {
  const { context, jobId, readToken, steps, options, news } = collecting
  const checked = await check(collecting, signal).catch((error: unknown) => {
    signal?.throwIfAborted()
    const cause = toClientError(error)
    if (!(cause instanceof SvcError && mayPass(cause))) throw cause
    // By then the stream is closed.
    const { news: _, ...again } = collecting
    throw new UncollectedError(cause, jobId, (later) => collect(again, later))
  })
  const { receiptHash: hash } = checked
  try {
    const commitTx = await steps.run('commit', () =>
      checkCommitment(context, { jobId, readToken, hash }, options.commitTimeoutMs, signal, news),
    )
    return { ...checked, commitTx, timingsMs: steps.timings() }
  } catch (error) {
    signal?.throwIfAborted()
    const cause = toClientError(error)
    // Another receipt on chain is a reason not to show the answer. A late one is not.
    if (!(cause instanceof SvcError && cause.retryable)) throw cause
    throw new UncommittedError({ ...checked, timingsMs: steps.timings() }, cause)
  }
}

/** A wallet that did not sign may do so when its user asks again. */
const mayPass = (error: SvcError): boolean => error.retryable || error.code.startsWith('wallet-')

async function check(
  { context, jobId, readToken, checks, proof, options, steps, view }: Collecting,
  signal: AbortSignal | undefined,
): Promise<Checked> {
  const { clock } = context
  const { collectTimeoutMs = longestOutageMs } = options
  const beganAt = clock.monotonic()
  const late = <T>(step: InferenceStep, body: () => Promise<T>): Promise<T> =>
    steps.run(step, (progress) =>
      outlast(clock, progress, signal, body, collectTimeoutMs - elapsedSince(clock, beganAt)),
    )
  const { receipt, hash, prompt, secret } = await late('receipt', async () => {
    const { expected, ...opening } = await checks()
    const found = await fetchCheckedReceipt(context, expected, view, readToken, signal)
    return { ...found, ...opening }
  })
  const blob = await late('fetch-output', () =>
    context.blobs.download(receipt.delivery.body.output_cid, signal),
  )
  const output = await late('decrypt-output', async () => {
    const text = await decryptOutput(context, receipt, { blob, secret }, signal)
    await checkOutput(text, receipt, { prompt, secret })
    return text
  })
  const answer = isStructured(prompt) ? readAnswer(output) : undefined
  const usage = usageIn(receipt)
  const isCut = deliveredAnswer(receipt).ended === 'length'
  return {
    jobId,
    readToken,
    status: 'accepted',
    model: receipt.list.terms.model_id,
    output,
    ...(answer && { answer }),
    ended: answer?.finish_reason ?? (isCut ? 'length' : 'stop'),
    ...(usage && { usage }),
    deliverer: receipt.tally.body.deliverer,
    agreed: agreedIn(receipt),
    ...(receipt.attested && { attested: attestedIn(receipt) }),
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

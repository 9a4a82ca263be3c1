import { z } from 'zod'
import { abortable } from '../../lib/chain/abortable.ts'
import { type Agreed, describeAgreed } from '../../lib/client/agreed.ts'
import type {
  AcceptedInference,
  FailedInference,
  UncommittedError,
  UncommittedInference,
} from '../../lib/client/inference.ts'
import { explainError } from '../../lib/host/explain-error.ts'
import { writePrivateJson } from '../../lib/host/private-files.ts'
import { outputFailure } from '../../lib/host/stop-signals.ts'
import { printable } from '../../lib/printable.ts'
import { onlySamples } from '../../lib/providers.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { describeAttested } from '../../lib/teacher.ts'
import type { InferCommand } from './options.ts'
import type { Progress, Screen } from './progress.ts'

type Asked = Pick<InferCommand, 'json' | 'quiet'>
/** Where a command writes, and what stops it. */
type Streams = { readonly output: Screen; readonly signal: AbortSignal }

/** Prints an answer that stands on chain; throws an Interrupted, or SvcError `output-unwritable`. */
export async function tellAnswer(
  inference: AcceptedInference,
  { json, quiet }: Asked,
  streams: Streams,
  progress: Progress,
): Promise<void> {
  const { output: answer, agreed, attested, jobId, receiptHash, commitTx, model } = inference
  if (!quiet) tellAgreed(agreed, model, progress)
  if (!quiet && attested)
    progress.say(`attested by nodes that weighed it: ${describeAttested(attested)}`)
  if (!quiet) progress.say(`job ${jobId}, receipt ${receiptHash}, on chain in ${commitTx}`)
  if (json) await print(`${JSON.stringify(jsonResult(inference))}\n`, streams)
  else await printAnswer(answer, streams)
}

/** Prints an answer that was checked, and warns that it was not seen on chain; throws as tellAnswer does. */
export async function tellUncommitted(
  error: UncommittedError,
  { json }: Asked,
  streams: Streams,
  progress: Progress,
): Promise<void> {
  const { output: answer, agreed, jobId, receiptHash, model } = error.inference
  tellAgreed(agreed, model, progress)
  progress.say(`warning: this answer was checked, but not seen on chain: ${error.message}`)
  progress.say(`hint: ${error.hint}`)
  progress.say(`job ${jobId}, receipt ${receiptHash}. Running it again would pay for it again`)
  if (json) await print(`${JSON.stringify(jsonUncommitted(error))}\n`, streams)
  else await printAnswer(answer, streams)
}

function tellAgreed(agreed: Agreed, model: string, progress: Progress): void {
  progress.say(describeAgreed(agreed))
  if (!onlySamples(model)) return
  progress.say(
    `note: ${model} words each answer anew. One job shows no more than that the nodes spoke of the same thing`,
  )
}

function printAnswer(answer: string, streams: Streams): Promise<void> {
  const whole = answer.endsWith('\n') ? answer : `${answer}\n`
  return print(streams.output.isTTY ? printable(whole) : whole, streams)
}

/** Prints, and waits until it is printed, for as long as nothing stops the command. */
async function print(text: string, { output, signal }: Streams): Promise<void> {
  const written = Promise.resolve(output.write(text)).catch((error: unknown) => {
    throw outputFailure(error)
  })
  await abortable(written, signal)
}

/** Writes the receipt where it was asked for, for as long as nothing stops the command. */
export async function keepReceipt(
  { receipt: path }: Pick<InferCommand, 'receipt'>,
  { receipt }: Pick<UncommittedInference, 'receipt'>,
  { signal }: Pick<Streams, 'signal'>,
): Promise<void> {
  if (path === undefined) return
  await abortable(writePrivateJson(path, z.encode(Receipt, receipt)), signal)
}

/** How an inference ended, as one object for machines. */
const jsonResult = (
  inference: FailedInference | (UncommittedInference & { readonly commitTx: string | undefined }),
) => {
  const accepted = inference.status === 'accepted' ? inference : undefined
  return {
    jobId: inference.jobId,
    status: inference.status,
    model: inference.model,
    output: accepted?.output ?? null,
    deliverer: inference.deliverer ?? null,
    agreed: accepted?.agreed.agreed ?? null,
    answers: accepted?.agreed.answers ?? null,
    list_length: accepted?.agreed.listLength ?? null,
    verdicts: inference.verdicts.map(({ node, verdict }) => ({ node, verdict })),
    attested: accepted?.attested ?? null,
    commit_tx: accepted?.commitTx ?? null,
    receipt_hash: accepted?.receiptHash ?? null,
    timings_ms: inference.timingsMs,
    proof: inference.proof
      ? { bytes: inference.proof.bytes, steps_ms: inference.proof.stepsMs }
      : null,
  }
}

/** A checked answer that was not seen on chain, and why, as one object for machines. */
const jsonUncommitted = (error: UncommittedError) => ({
  ...jsonResult({ ...error.inference, commitTx: undefined }),
  error: jsonFailure(error, error.inference.jobId).error,
})

/** Why there is no answer, as one object for machines. */
export const jsonFailure = (error: unknown, jobId: string | undefined) => {
  const { message, hint = null } = explainError(error)
  const code = error instanceof SvcError ? error.code : 'failed'
  return { jobId: jobId ?? null, status: 'failed', output: null, error: { code, message, hint } }
}

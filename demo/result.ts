import { describeAgreed } from '../lib/client/agreed.ts'
import { type Inference, inferenceError } from '../lib/client/inference.ts'
import { errorMessage } from '../lib/error-message.ts'
import { Interrupted } from '../lib/host/stop-signals.ts'
import { oneLine, printable } from '../lib/printable.ts'
import { SvcError } from '../lib/svc-error.ts'
import { describeAttested } from '../lib/teacher.ts'
import type { BlobsInKubo } from './blobs-in-kubo.ts'
import type { Story } from './story.ts'

/** Formats an error and its remedy as one sentence. */
const sentenceOf = (error: unknown): string => {
  if (!(error instanceof SvcError)) return oneLine(errorMessage(error))
  const { message, hint } = error
  if (/[.?!]$/.test(message)) return oneLine(`${message} ${hint}`)
  return oneLine(`${message}: ${hint.charAt(0).toLowerCase()}${hint.slice(1)}`)
}

/** Says of an interruption that nothing is left, and returns its exit code. Throws any other error. */
export function tellInterrupted({ say }: Pick<Story, 'say'>, error: unknown): number {
  if (!(error instanceof Interrupted)) throw error
  say(`${error.message}. Everything that it started has ended.`)
  return error.exitCode
}

/** Prints the outcome of an inference. */
export function tellResult(story: Story, inference: Inference): void {
  story.say()
  if (inference.status === 'accepted') {
    story.say('Answer (decrypted and checked here):')
    story.say()
    story.say(printable(inference.output).replace(/^/gm, '  '))
    story.say()
  }
  story.say(`  job         ${inference.jobId}`)
  story.say(`  status      ${inference.status}`)
  if (inference.status === 'accepted') {
    story.say(`  answers     ${describeAgreed(inference.agreed)}`)
  }
  story.say(`  deliverer   ${inference.deliverer ?? 'none'}`)
  for (const { node, verdict, reason } of inference.verdicts) {
    story.say(`  verifier    ${node}  ${verdict}${reason === undefined ? '' : ` (${reason})`}`)
  }
  for (const one of (inference.status === 'accepted' && inference.attested) || []) {
    story.say(`  attested    ${describeAttested([one])}`)
  }
  if (inference.status === 'accepted') {
    story.say(`  receipt     ${inference.receiptHash}`)
    story.say(`  commit tx   ${inference.commitTx}`)
  } else {
    story.say()
    story.say(`${sentenceOf(inferenceError(inference))}`)
  }
}

/** The line of `--json` for an inference, or for a failure that left none. */
export const jsonResult = (inference?: Inference) => {
  const accepted = inference?.status === 'accepted' ? inference : undefined
  const proof = inference?.proof
  return {
    jobId: inference?.jobId ?? null,
    status: inference?.status ?? 'failed',
    model: inference?.model ?? '',
    output: accepted?.output ?? null,
    answers: accepted?.agreed.answers ?? null,
    agreed: accepted?.agreed.agreed ?? null,
    deliverer: inference?.deliverer ?? null,
    verdicts: (inference?.verdicts ?? []).map(({ node, verdict }) => ({ node, verdict })),
    attested: accepted?.attested ?? null,
    commit_tx: accepted?.commitTx ?? null,
    receipt_hash: accepted?.receiptHash ?? null,
    timings_ms: inference?.timingsMs ?? {},
    proof: proof === undefined ? null : { bytes: proof.bytes, steps_ms: proof.stepsMs },
  }
}

/** Prints the CIDs of a job's blobs. */
export function tellBlobs(story: Story, { prompt_cid, output_cid }: BlobsInKubo): void {
  story.say(`  prompt      ${prompt_cid}  (encrypted, in Kubo)`)
  if (output_cid !== undefined) story.say(`  output      ${output_cid}  (encrypted, in Kubo)`)
}

/** The line of `--json` for a failure. */
export const jsonFailure = (model: string, error: unknown) => ({
  ...jsonResult(),
  model,
  error: { code: error instanceof SvcError ? error.code : 'failed', message: sentenceOf(error) },
})

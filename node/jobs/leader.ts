import { cidOf } from '../../lib/cid.ts'
import { describeEncryption, type EncryptNews } from '../../lib/coprocessor/coprocessor.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ClaimResult, LeaderResult } from '../../lib/schemas/assignments.ts'
import { newSealingKey, seal, splitKey } from '../../lib/sealing.ts'
import { signResult } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import { isGone } from './abort-reason.ts'
import { produceAnswer } from './answer.ts'
import { checkReaders } from './check-readers.ts'
import { callAttempts, type JobDeps } from './job-deps.ts'
import type { Ending } from './job-end.ts'
import type { LeftMs } from './lease.ts'
import { sideBySide } from './side-by-side.ts'
import { noteSigned } from './signed-before.ts'

// Verifiers that join later still have to be let in.
const grantingSeconds = 3_600

/** A leader's work: answer, seal the output, store its key, upload it, post the result (spec 4); its lease has `leftMs`. */
export async function lead(
  deps: JobDeps,
  claim: ClaimResult,
  signal: AbortSignal,
  leftMs: LeftMs,
): Promise<Ending> {
  const { jobId, fence } = claim
  checkReaders(deps.address, claim)
  const { text, evidence } = await produceAnswer(deps, claim, signal, leftMs)
  const outputKey = newSealingKey(deps.random)
  const blob = await seal(text, outputKey, { kind: 'output', jobId }, deps.random)
  // The upload does not depend on the key's place on chain.
  const [stored, outputCid] = await sideBySide(
    signal,
    (shared) => storeOutputKey(deps, claim, outputKey, shared),
    (shared) => uploadOutput(deps, claim, blob, shared),
  )
  const result = await signResult(
    deps.address,
    {
      jobId,
      fence,
      model_id: claim.model_id,
      max_output_tokens: claim.parameters.max_output_tokens,
      output_cid: outputCid,
      outHighHandle: stored.highHandle,
      outLowHandle: stored.lowHandle,
      evidence,
    },
    deps.sessionKey,
  )
  // From here on a restart sends these very bytes again.
  noteSigned(deps.journal, { step: 'result', jobId, fence, result })
  return await deliverResult(deps, result, signal)
}

/** Posts a signed result; sending the same one again changes nothing. */
export async function deliverResult(
  { api, log }: JobDeps,
  result: LeaderResult,
  signal: AbortSignal,
): Promise<Ending> {
  await api.postResult({ body: result }, { signal, attempts: callAttempts })
  log.info(messages.leaderAccepted(result.jobId))
  return { outcome: 'result-posted' }
}

async function storeOutputKey(
  { coprocessor, chain, log }: JobDeps,
  claim: ClaimResult,
  outputKey: Uint8Array,
  signal: AbortSignal,
) {
  const halves = splitKey(outputKey)
  const onStep = (news: EncryptNews) =>
    log.debug(`Job ${claim.jobId}: encrypting the output key: ${describeEncryption(news)}`)
  const { high, low } = await coprocessor.encrypt(halves.high, halves.low, { signal, onStep })
  // From here on it costs gas.
  signal.throwIfAborted()
  const stored = await chain.storeOutputKey(
    {
      high,
      low,
      readers: claim.output_readers,
      delegate: claim.output_delegate,
      until: claim.claimDeadline + grantingSeconds,
    },
    signal,
  )
  log.debug(messages.keyStored(claim.jobId, stored))
  return stored
}

async function uploadOutput(
  { api, log }: JobDeps,
  { jobId, fence }: ClaimResult,
  blob: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<string> {
  const expected = await cidOf(blob)
  const { cid } = await api
    .putBlob({ query: { jobId, fence }, body: blob }, { signal, attempts: callAttempts })
    .catch((error: unknown) => {
      signal.throwIfAborted()
      if (isGone(error) || (error instanceof ProblemError && error.status === 401)) throw error
      throw uploadFailed(errorText(error), error)
    })
  if (cid !== expected) throw uploadFailed(`it was stored as ${cid}, but it is ${expected}`)
  log.info(messages.outputUploaded(jobId, cid))
  return cid
}

const uploadFailed = (why: string, cause?: unknown): SvcError =>
  new SvcError('output-upload-failed', `the encrypted output could not be uploaded: ${why}`, {
    hint: 'Check that the ICL is reachable.',
    cause,
  })

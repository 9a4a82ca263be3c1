import { cidOf } from '../../lib/cid.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ClaimResult, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { DeliveryPost } from '../../lib/schemas/statements.ts'
import { type OutputOf, sealOutput } from '../../lib/sealing/output.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import { isGone } from './abort-reason.ts'
import { acknowledged } from './acknowledged.ts'
import { callAttempts, type JobDeps } from './job-deps.ts'
import type { OutputKey } from './output-keys.ts'
import type { Part } from './own.ts'
import { noteSigned } from './signed-before.ts'

/** Posts the signed delivery (spec 4), the same bytes each time. Returns the next step if the ICL names it. */
export async function postDelivery(
  part: Part,
  body: DeliveryPost,
): Promise<OwnAssignment | undefined> {
  const { deps, claim, own } = part
  const next = await acknowledged(part, {
    step: 'result',
    bodyHash: await statementHash(body),
    post: (query, options) => deps.api.postResult({ query, body }, options),
  })
  own.taken.delivery = body
  deps.log.info(`Job ${claim.jobId}: Leader result accepted`)
  return next
}

/** Stores the answer where the client and the `checkers` (positions on the list) can read it, and signs the delivery. */
export async function makeDelivery(
  { deps, claim, own, signal }: Part,
  checkers: readonly number[],
): Promise<DeliveryPost> {
  const { address, sessionKey } = deps
  const { jobId, fence } = claim
  const { text, answer } = own
  if (text === undefined) {
    throw new SvcError('answer-lost', 'the text of the answer was lost in a restart', {
      hint: 'It is only in memory. Another node delivers.',
    })
  }
  if (answer === undefined) {
    throw new SvcError('node-failed', 'the ICL wants an answer delivered that was not revealed', {
      hint: 'Tell the operator of the ICL.',
    })
  }
  const { secret } = await own.secrets(signal)
  if (!own.output && claim.role !== 'leader') {
    deps.log.info(`Job ${jobId}: delivering in place of the leader`)
  }
  own.output ??= await sealedOutput(deps, { jobId, fence, secret }, text, signal)
  const { output } = own
  // The upload follows (spec 4). One that fails must not cost a second key, which takes gas.
  output.stored ??= await storeOutputKey(deps, claim, output.key, checkers, signal)
  const { stored } = output
  const outputCid = await uploadOutput(deps, claim, output.blob, signal)
  deps.log.info(`Job ${jobId}: uploaded encrypted output ${outputCid}`)
  const delivery = await signed(
    {
      statement: 'svc-delivery-v2',
      jobId,
      address,
      fence,
      answer: await statementHash(answer),
      output_cid: outputCid,
      outHighHandle: stored.highHandle,
      outLowHandle: stored.lowHandle,
    },
    sessionKey,
  )
  // After a restart the node sends these same bytes again.
  noteSigned(deps.journal, { step: 'delivery', jobId, fence, delivery })
  return delivery
}

async function sealedOutput(
  { outputKeys, random }: JobDeps,
  of: Omit<OutputOf, 'key'>,
  text: string,
  signal: AbortSignal,
) {
  const key = await outputKeys.take(signal)
  return { key, blob: await sealOutput(text, { ...of, key: key.key }, random) }
}

async function storeOutputKey(
  { chain, log }: JobDeps,
  { jobId, kpHighHandle, activator, until, list, position }: ClaimResult,
  { high, low }: OutputKey,
  checkers: readonly number[],
  signal: AbortSignal,
) {
  // The next call costs gas.
  signal.throwIfAborted()
  const stored = await chain.storeOutputKey(
    {
      high,
      low,
      promptHigh: kpHighHandle,
      jobId,
      activator,
      until,
      list,
      self: position,
      checkers,
    },
    signal,
  )
  log.debug(messages.keyStored(jobId, stored))
  return stored
}

/** Stores a sealed text of this node at the ICL, and returns its CID. Throws SvcError `output-upload-failed`. */
export async function uploadOutput(
  { api }: Pick<JobDeps, 'api'>,
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
  return cid
}

const uploadFailed = (why: string, cause?: unknown): SvcError =>
  new SvcError('output-upload-failed', `the encrypted output could not be uploaded: ${why}`, {
    hint: 'Check that the ICL is reachable.',
    cause,
  })

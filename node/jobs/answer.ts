import { remedyFor } from '../../lib/causes.ts'
import { elapsedSince, unixSeconds } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import type { EvidenceInput } from '../../lib/comparators/comparator.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { promptText, readPrompt } from '../../lib/prompt.ts'
import { needsOf, type Takes, unmetNeeds } from '../../lib/prompt-needs.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import type { Evidence } from '../../lib/schemas/evidence.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import { openPromptText } from '../../lib/sealing/envelope.ts'
import { evidenceKeyOf } from '../../lib/sealing/job-secret.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { behindError } from '../chain/behind.ts'
import type { Completed, Usage } from '../inference/provider.ts'
import { checkList, untrusted } from './check-list.ts'
import { decryptKey } from './decrypt-key.ts'
import { grantPatienceMs, type JobDeps } from './job-deps.ts'
import { checkStands, type LeftMs } from './lease.ts'
import { waitOut } from './wait-out.ts'

const slowInferenceMs = 30_000
/** How long after its claim a job counts as standing. A node that took longer asks. */
const trustedMs = 1_500
// About 4k tokens.
const longPromptCharacters = 16_000

/** The secret inputs to the evidence of any text of a job. They are never written to disk. */
type EvidenceSecrets = Pick<EvidenceInput, 'prompt' | 'key'>

/** The same secrets, with the prompt document as the client wrote it, and the job's secret. */
export type JobSecrets = EvidenceSecrets & {
  readonly asked: PromptDocument
  readonly secret: Uint8Array<ArrayBuffer>
}

/** This node's answer to a job, its evidence, and the secrets that the evidence was made with. */
export type Answer = Completed & {
  readonly evidence: Evidence
  readonly secrets: JobSecrets
}

/** The time that an inference has left, and the callback for the tokens it used. */
type Inference = { readonly leftMs: LeftMs; readonly onUsage: (usage: Usage) => void }

/** Checks that the client chose this node, decrypts the prompt, runs the inference and makes its evidence, in both roles (spec 4). */
export async function produceAnswer(
  deps: JobDeps,
  claim: ClaimResult,
  signal: AbortSignal,
  inference: Inference,
): Promise<Answer> {
  const { jobId, comparator } = claim
  const beganAt = deps.clock.monotonic()
  const isCommitted = await waitOut(deps, jobId, signal, () => checkList(deps, claim, signal))
  if (!isCommitted) await checkInStep(deps, claim, signal)
  const promptKey = await decryptPromptKey(deps, claim, signal)
  if (!isCommitted) throw untrusted('to which the client has not committed on chain')
  const opened = await openPrompt(deps, claim, promptKey, signal)
  // The next call costs money.
  if (elapsedSince(deps.clock, beganAt) > trustedMs) await checkStands(deps, claim, signal)
  const completed = await runInference(deps, claim, opened.asked, signal, inference)
  const secrets = await secretsOf(opened, jobId)
  const evidence = await comparators[comparator].evidenceOf({ text: completed.text, ...secrets })
  return { ...completed, evidence, secrets }
}

/** Recovers a job's evidence secrets from the chain and the prompt's blob, after a restart of the daemon. */
export async function recoverSecrets(
  deps: JobDeps,
  claim: ClaimResult,
  signal: AbortSignal,
): Promise<JobSecrets> {
  const promptKey = await decryptPromptKey(deps, claim, signal)
  return await secretsOf(await openPrompt(deps, claim, promptKey, signal), claim.jobId)
}

const secretsOf = async (opened: OpenedPrompt, jobId: JobId): Promise<JobSecrets> => ({
  ...opened,
  prompt: promptText(opened.asked),
  key: await evidenceKeyOf(opened.secret, jobId),
})

/** The error when a claim fails or returns no key handles (spec 7). */
export const keyHandlesMissing = (why: string, cause?: unknown): SvcError =>
  new SvcError(
    'key-handles-missing',
    `key handles are missing, the prompt cannot be decrypted (${why})`,
    { hint: 'The ICL has to hand out the stored handles of the prompt key.', cause },
  )

async function decryptPromptKey(
  deps: JobDeps,
  claim: ClaimResult,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const { jobId, kpHighHandle: high, kpLowHandle: low } = claim
  const key = await waitOut(deps, jobId, signal, () =>
    decryptKey(deps, jobId, { high, low }, grantPatienceMs, signal),
  ).catch(async (error: unknown) => {
    const isDenied = error instanceof SvcError && error.code === 'coprocessor-access-denied'
    if (isDenied) await checkInStep(deps, claim, signal)
    throw error
  })
  deps.log.info(`Job ${jobId}: Decrypted prompt key`)
  return key
}

/** Leaves and blames a chain RPC that does not know the prompt key's block yet, in place of those whose steps it does not show. Throws SvcError `chain-behind`. */
async function checkInStep(
  { chain, clock }: JobDeps,
  claim: ClaimResult,
  signal: AbortSignal,
): Promise<void> {
  const newest = await chain.newestBlock(signal).catch(() => undefined)
  const behind = newest && behindError(newest, claim.block_number, unixSeconds(clock))
  if (!behind) return
  chain.leaveRpc(newest.host)
  throw behind
}

type OpenedPrompt = Pick<JobSecrets, 'asked' | 'secret'>

async function openPrompt(
  deps: JobDeps,
  claim: ClaimResult,
  key: Uint8Array<ArrayBuffer>,
  signal: AbortSignal,
): Promise<OpenedPrompt> {
  const { blobs, log, readingKey } = deps
  const { jobId, client, prompt_cid, position, list } = claim
  const blob = await waitOut(deps, jobId, signal, () => blobs.download(prompt_cid, signal)).catch(
    (error: unknown) => {
      signal.throwIfAborted()
      throw promptUnavailable(error)
    },
  )
  log.info(`Job ${jobId}: Downloaded prompt blob (${blob.length} bytes)`)
  const { kpHighHandle: highHandle, kpLowHandle: lowHandle } = claim
  const of = {
    ...{ chainId: deps.chainId, store: deps.promptKeyStore, client, highHandle, lowHandle, list },
  }
  const { text, secret } = await openPromptText(blob, { key, of, position, readingKey })
  log.debug(`Job ${jobId}: prompt: ${text}`)
  return { asked: readPrompt(text), secret }
}

const promptUnavailable = (error: unknown): SvcError =>
  new SvcError(
    'prompt-unavailable',
    `the prompt blob could not be fetched: ${errorMessage(error)}`,
    { hint: 'Check the IPFS gateway (SVC_IPFS_GATEWAY).', cause: error },
  )

async function runInference(
  { models, budget, speeds, clock, log }: JobDeps,
  { jobId, fence, model_id, parameters }: ClaimResult,
  prompt: PromptDocument,
  signal: AbortSignal,
  inference: Inference,
): Promise<Completed> {
  const offered = models.get(model_id)
  if (offered === undefined) {
    throw new SvcError('model-not-offered', `this node does not serve ${model_id}`, {
      hint: remedyFor('node operator', 'model-not-offered', model_id),
    })
  }
  checkSizes(offered.takes, prompt, { model_id, parameters })
  const mayCall = budget.begin({ jobId, fence })
  log.info(`Job ${jobId}: Running inference on the prompt via ${model_id}`)
  const startedAt = clock.monotonic()
  const asked = offered.provider.complete({
    model: offered.model,
    prompt,
    maxOutputTokens: parameters.max_output_tokens,
    ...inference,
    mayCall,
    signal,
  })
  const completed = await asked.catch((error: unknown) => {
    budget.failed(jobId, error)
    if (isTooSlow(error)) {
      speeds.tooSlow(model_id, parameters.max_output_tokens, elapsedSince(clock, startedAt))
    }
    throw error
  })
  const elapsedMs = elapsedSince(clock, startedAt)
  speeds.answered(model_id, completed.usage?.output_tokens ?? 0, elapsedMs)
  const took = `${(elapsedMs / 1000).toFixed(1)} s`
  log.info(`Job ${jobId}: Inference complete in ${took}`)
  if (elapsedMs > slowInferenceMs) {
    const isLong = promptText(prompt).length > longPromptCharacters
    const advice = isLong ? '. Prompts above about 4k tokens are slower' : ''
    log.warning(`Job ${jobId}: slow inference, ${took}${advice}`)
  }
  log.debug(`Job ${jobId}: output: ${completed.text}`)
  return completed
}

const isTooSlow = (error: unknown): boolean =>
  error instanceof SvcError && ['provider-silent', 'deadline-too-close'].includes(error.code)

/** Refuses a prompt larger than the operator offers, whatever the ICL says: the sizes decide what an inference costs. */
function checkSizes(
  takes: Takes | undefined,
  prompt: PromptDocument,
  { model_id, parameters }: Pick<ClaimResult, 'model_id' | 'parameters'>,
): void {
  const { parts: _, ...sizes } = needsOf(prompt, parameters.max_output_tokens) ?? {}
  const [unmet] = unmetNeeds(takes, sizes)
  if (unmet === undefined) return
  throw new SvcError('prompt-not-supported', `this node offers ${model_id} not for ${unmet}`, {
    hint: 'The client has to ask for less. What is offered is in `takes` of the provider.',
  })
}

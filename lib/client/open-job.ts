/*
 * Problem: a program may end, or its caller leave, before it has the answer of a job that is paid for.
 *
 * Idea: the wallet is enough. What an answer is checked with stands on chain by this wallet's own transactions, or is named by the job's id: the
 * key, which opens the prompt, the hash of the terms, and the commitment to the list that the client had drawn.
 *
 * Invariants: an answer is checked as one that was waited for. Of the job itself only the longest answer that its nodes were told is the
 * receipt's word: no transaction has it.
 *
 * Failure cases: the ICL deletes a job 30 days after it has settled, and with it the answer.
 */

import type { JobId } from '../codecs.ts'
import { jobIdOf } from '../job-id.ts'
import { readPrompt } from '../prompt.ts'
import { joinKey, unseal } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import { check, differs } from './check-receipt.ts'
import { toClientError } from './client-error.ts'
import { type Checks, collect } from './collect.ts'
import type { ClientContext } from './context.ts'
import { followJob } from './follow-job.ts'
import { endedWithout, type Inference } from './inference.ts'
import { patient } from './patient.ts'
import { createStepRunner, type StepNews } from './steps.ts'

/** How to open the answer of a job. */
export type OpenOptions = {
  readonly onStep?: (news: StepNews) => void
  /** As of `infer`. */
  readonly collectTimeoutMs?: number
  readonly commitTimeoutMs?: number
  /** Aborting it leaves the job as it is. */
  readonly signal?: AbortSignal
}

/** Waits until a job of this wallet has settled, and opens its answer with what chain and ICL have of it; throws as `infer` does, and SvcError `job-not-found`. */
export async function openJob(
  context: ClientContext,
  jobId: JobId,
  options: OpenOptions = {},
): Promise<Inference> {
  const { signal } = options
  const steps = createStepRunner(context.clock, options.onStep)
  try {
    const readToken = await readTokenOf(context, jobId, signal)
    const view = await steps.run(
      'inference',
      () => followJob(context, { jobId, readToken, signal }),
      ({ status }) => status === 'accepted',
    )
    if (view.status !== 'accepted') {
      return { ...endedWithout(view), jobId, readToken, timingsMs: steps.timings() }
    }
    const checks = () => checksOf(context, jobId, readToken, signal)
    return await collect({ context, options, steps, jobId, readToken, view, checks }, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw toClientError(error)
  }
}

async function readTokenOf(
  { api }: ClientContext,
  jobId: JobId,
  signal: AbortSignal | undefined,
): Promise<string> {
  let cursor: string | undefined
  do {
    const query = cursor === undefined ? {} : { cursor }
    const page = await api.listJobs({ query }, { ...patient, signal })
    const found = page.jobs.find((job) => job.jobId === jobId)
    if (found) return found.read_token
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  throw new SvcError('job-not-found', `This wallet has no job ${jobId} at this ICL`, {
    hint: 'Use the wallet and the ICL that the job was submitted with. A job is deleted 30 days after it has settled.',
  })
}

/** What the answer of a job is checked with; throws SvcError `receipt-invalid`, `receipt-differs` or those of a decryption. */
async function checksOf(
  { api, chain, network, address, coprocessor, blobs }: ClientContext,
  jobId: JobId,
  readToken: string,
  signal: AbortSignal | undefined,
): Promise<Checks> {
  const receipt = await api.getReceipt({ params: { jobId } }, { ...patient, readToken, signal })
  const { list, prompt_cid: promptCid, kpHighHandle, kpLowHandle } = receipt
  const identity = {
    ...{ chainId: network.chain_id, client: address, promptCid, kpHighHandle, kpLowHandle },
    clientNonce: receipt.client_nonce,
  }
  check(jobIdOf(identity) === jobId, 'it is about another job')
  const { terms, block, members, activator, until } = list
  const stored = await chain.storedKeyAt(kpHighHandle, kpLowHandle, block.number, signal)
  const granted = await chain.firstReaders(kpHighHandle, kpLowHandle, block.number, signal)
  if (!stored || granted === undefined) throw differs('holds no such key with a list')
  const decrypt = (handle: bigint) => coprocessor.decrypt(handle, signal ? { signal } : {})
  const [high, low] = await Promise.all([decrypt(kpHighHandle), decrypt(kpLowHandle)])
  const promptKey = joinKey({ high, low })
  const blob = await blobs.download(promptCid, signal)
  const prompt = readPrompt(await unseal(blob, promptKey, { kind: 'prompt', client: address }))
  const expected = {
    ...{ jobId, identity, terms, block, granted, preparedAt: stored.storedAt },
    maxOutputTokens: receipt.max_output_tokens,
    committed: { jobId, activator, until, list: members },
  }
  return { expected, prompt, promptKey }
}

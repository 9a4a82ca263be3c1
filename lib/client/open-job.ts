/*
 * Problem: a program may end before it has the answer of a job that is paid for.
 *
 * Idea: the wallet is enough. It gives the secret of the job. The key, the hash of the terms and the commitment to the list are on chain,
 * from this wallet's transactions, and the job's id names the rest that an answer is checked with.
 *
 * Invariants: an answer is checked as `infer` checks it. Only the output limit is not on chain: without `maxOutputTokens`, the receipt's own
 * number is taken.
 *
 * Failure cases: the ICL deletes a job 30 days after it has settled. A node may withdraw its stake after 7 days: then the answer is refused.
 */

import type { JobId } from '../codecs.ts'
import { jobIdOf } from '../job-id.ts'
import { readPrompt } from '../prompt.ts'
import { openOwnPrompt } from '../sealing/envelope.ts'
import { jobSecretOf } from '../sealing/job-secret.ts'
import { joinKey } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import { check, differs } from './check-receipt.ts'
import { toClientError } from './client-error.ts'
import { type Checks, collect } from './collect.ts'
import { type ClientContext, patient } from './context.ts'
import { followJob } from './follow-job.ts'
import { endedWithout, type Inference } from './inference.ts'
import { createStepRunner, type StepNews } from './steps.ts'

/** The most pages of 50 jobs that are searched, since an ICL may always name a next page. */
const mostPages = 1_000

/** How to open the answer of a job. */
export type OpenOptions = {
  readonly onStep?: (news: StepNews) => void
  /** The output limit that the job was submitted with. Without it the nodes may have been told a shorter one. */
  readonly maxOutputTokens?: number
  /** As of `infer`. */
  readonly collectTimeoutMs?: number
  readonly commitTimeoutMs?: number
  /** Aborting it leaves the job as it is. */
  readonly signal?: AbortSignal
}

/** Waits until a job of this wallet has settled, and opens its answer. Throws as `infer` does, and SvcError `job-not-found`. */
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
    const checks = () => checksOf(context, jobId, readToken, options)
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
  for (let pages = 0; pages < mostPages; pages++) {
    const query = cursor === undefined ? {} : { cursor }
    const page = await api.listJobs({ query }, { ...patient, signal })
    const found = page.jobs.find((job) => job.jobId === jobId)
    if (found) return found.read_token
    cursor = page.next_cursor ?? undefined
    if (cursor === undefined) break
  }
  throw new SvcError('job-not-found', `This wallet has no job ${jobId} at this ICL`, {
    hint: 'Use the wallet and the ICL that the job was submitted with. A job is deleted 30 days after it has settled.',
  })
}

/** Returns what an answer is checked with. Throws SvcError `receipt-invalid`, `receipt-differs`, `secret-differs` or those of a decryption. */
async function checksOf(
  { api, chain, network, address, coprocessor, blobs, secret: ownSecret }: ClientContext,
  jobId: JobId,
  readToken: string,
  { maxOutputTokens, signal }: OpenOptions,
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
  const handles = { highHandle: kpHighHandle, lowHandle: kpLowHandle }
  const secret = await jobSecretOf((await ownSecret()).bytes, handles)
  const store = network.contracts.prompt_key_store
  const of = { chainId: network.chain_id, store, client: address, ...handles, list: members }
  const blob = await blobs.download(promptCid, signal)
  const key = joinKey({ high, low })
  const prompt = readPrompt(await openOwnPrompt(blob, { key, secret, of }))
  const expected = {
    ...{ jobId, identity, terms, block, granted, preparedAt: stored.storedAt },
    maxOutputTokens: maxOutputTokens ?? receipt.max_output_tokens,
    committed: { jobId, activator, until, list: members },
  }
  return { expected, prompt, secret }
}

import { remedyFor } from '../causes.ts'
import { elapsedSince } from '../clock.ts'
import type { Hash32, JobId } from '../codecs.ts'
import type { JobView } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import type { Bell } from './bell.ts'
import type { ClientContext } from './context.ts'
import { isPassing } from './outlast.ts'

const pollMs = 500
const defaultTimeoutMs = 60_000

/**
 * Waits until the receipt's hash is on chain and returns the transaction's hash. Looks when `news` rings, and twice a second. Retries while the ICL or the chain is unavailable. Throws
 * SvcError `commit-missing` or `commit-conflict`; after `timeoutMs` it may throw the last error of the ICL or the chain instead.
 */
export async function checkCommitment(
  { api, chain, clock }: ClientContext,
  job: { readonly jobId: JobId; readonly readToken: string; readonly hash: Hash32 },
  timeoutMs: number = defaultTimeoutMs,
  signal?: AbortSignal,
  news?: Pick<Bell, 'wait'>,
): Promise<Hash32> {
  const { jobId, readToken, hash } = job
  const beganAt = clock.monotonic()
  const look = async (): Promise<Hash32 | SvcError> => {
    const view = await api.getJob({ params: { jobId } }, { readToken, signal, attempts: 3 })
    if (view.commit_tx !== undefined) {
      const onChain = await chain.receiptHashIn(view.commit_tx, jobId, signal)
      if (onChain === hash) return view.commit_tx
      if (onChain !== undefined) throw conflict(onChain, hash)
    }
    return missing(view, timeoutMs)
  }
  const pause = () => (news ? news.wait(pollMs, signal) : clock.sleep(pollMs, signal))
  if (news) await pause()
  for (;;) {
    const found = await look().catch((error: unknown) => {
      signal?.throwIfAborted()
      if (isPassing(error)) return error
      throw error
    })
    if (typeof found === 'string') return found
    if (elapsedSince(clock, beganAt) >= timeoutMs) throw found
    await pause()
  }
}

const missing = (view: JobView, timeoutMs: number): SvcError =>
  new SvcError(
    'commit-missing',
    `The result was not on chain after ${Math.round(timeoutMs / 1000)} s${view.commit_error === undefined ? '' : ` (${view.commit_error})`}`,
    { hint: remedyFor('client', 'commit-missing'), retryable: true },
  )

const conflict = (onChain: Hash32, hash: Hash32): SvcError =>
  new SvcError('commit-conflict', `The chain holds another receipt (${onChain}) than ${hash}`, {
    hint: 'Do not rely on this answer: the ICL committed to one receipt and showed another.',
  })

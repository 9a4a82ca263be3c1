import { cidOf } from '../cid.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { maxBlobBytes } from '../endpoints.ts'
import { AnswerRefused, type Fetch, openAnswer, readAnswer } from '../outgoing.ts'
import { retryAfterMsOf } from '../retry-after.ts'
import { SvcError } from '../svc-error.ts'
import type { Blobs } from './blobs.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The gateways, which are tried in turn. Times in milliseconds. */
export type GatewayOptions = {
  readonly gateways: readonly string[]
  readonly fetch: Fetch
  readonly clock: Clock
  /** The time limit of one download. */
  readonly attemptMs?: number
  /** How many times each gateway is asked, not counting responses with Retry-After. */
  readonly rounds?: number
  readonly firstBackoffMs?: number
}

type Attempt =
  | { readonly bytes: Bytes }
  | { readonly problem: string; readonly isUseless: boolean; readonly retryAfterMs: number }

const maxBackoffMs = 8_000
/** How long a download waits in all for gateways that respond with Retry-After. Half a node's lease. */
const limitedMs = 60_000

/** Downloads blobs through IPFS gateways. Only bytes that hash to the CID are taken. */
export function createGatewayBlobs(options: GatewayOptions): Blobs {
  const { clock, attemptMs = 10_000, rounds = 4, firstBackoffMs = 500 } = options
  return {
    async download(cid, signal) {
      let gateways = [...new Set(options.gateways.map((url) => url.replace(/\/+$/, '')))]
      const problems = new Map<string, string>()
      let failedRounds = 0
      let patienceMs = limitedMs
      while (gateways.length > 0) {
        const useless = new Set<string>()
        let retryAfterMs = 0
        for (const gateway of gateways) {
          const attempt = await fetchBlob(options, gateway, cid, attemptMs, signal)
          if ('bytes' in attempt) return attempt.bytes
          problems.set(gateway, attempt.problem)
          if (attempt.isUseless) useless.add(gateway)
          retryAfterMs = Math.max(retryAfterMs, Math.min(attempt.retryAfterMs, maxBackoffMs))
        }
        gateways = gateways.filter((gateway) => !useless.has(gateway))
        // Limited is not failed: a job that is paid for waits its turn at a busy gateway.
        const isLimited = retryAfterMs >= 1_000 && patienceMs > 0
        if (!isLimited) failedRounds++
        if (failedRounds >= rounds) break
        const backoffMs = Math.min(firstBackoffMs * 2 ** (failedRounds - 1), maxBackoffMs)
        const waitMs = Math.max(backoffMs, retryAfterMs)
        if (isLimited) patienceMs -= waitMs
        if (gateways.length > 0) await clock.sleep(waitMs, signal)
      }
      throw unavailable(cid, problems)
    },
  }
}

async function fetchBlob(
  { fetch, clock }: GatewayOptions,
  gateway: string,
  cid: string,
  attemptMs: number,
  signal: AbortSignal | undefined,
): Promise<Attempt> {
  const timedOut = new Error(`gave no whole answer within ${attemptMs} ms`)
  try {
    return await withDeadline(
      clock,
      attemptMs,
      signal,
      () => timedOut,
      async (ended) => {
        const response = await openAnswer(fetch, `${gateway}/ipfs/${cid}`, { signal: ended })
        if (!response.ok) {
          await response.body?.cancel()
          return failed(`answered ${response.status}`, {
            retryAfterMs: retryAfterMsOf(response.headers, clock.now()),
          })
        }
        const bytes = await readAnswer(response, maxBlobBytes)
        if ((await cidOf(bytes)) !== cid) {
          return failed('sent bytes that do not hash to the CID', { isUseless: true })
        }
        return { bytes }
      },
    )
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof AnswerRefused) return failed(error.message, { isUseless: true })
    return failed(error === timedOut ? timedOut.message : 'cannot be reached')
  }
}

const failed = (
  problem: string,
  {
    isUseless = false,
    retryAfterMs = 0,
  }: { isUseless?: boolean; retryAfterMs?: number | undefined } = {},
): Attempt => ({ problem, isUseless, retryAfterMs })

const unavailable = (cid: string, problems: ReadonlyMap<string, string>): SvcError =>
  new SvcError(
    'blob-unavailable',
    `${cid}: ${[...problems].map(([gateway, problem]) => `${gateway} ${problem}`).join(', ')}`,
    {
      hint: 'Check the IPFS gateways: they may be down, limit requests, or not have the CID yet.',
      retryable: true,
    },
  )

import { elapsedSince } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { joinKey } from '../../lib/sealing.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import type { JobDeps } from './job-deps.ts'

const retryMs = 1_000
const minTries = 3

/** The on-chain handles of both halves of a key. */
export type KeyHandles = { readonly high: bigint; readonly low: bigint }

/** Decrypts a key. A refusal is final only after `patienceMs`, because the grant may not be on chain yet (spec 4, spec 7). */
export async function decryptKey(
  deps: Pick<JobDeps, 'coprocessor' | 'clock' | 'log'>,
  jobId: JobId,
  handles: KeyHandles,
  patienceMs: number,
  signal: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const { coprocessor, clock, log } = deps
  const beganAt = clock.monotonic()
  for (let failures = 1; ; failures++) {
    const startedAt = clock.monotonic()
    try {
      const [high, low] = await Promise.all(
        [handles.high, handles.low].map(async (handle) => {
          log.debug(messages.decrypting(jobId, handle))
          const half = await coprocessor.decrypt(handle, { signal })
          log.debug(messages.decrypted(jobId, handle, elapsedSince(clock, startedAt)))
          return half
        }),
      )
      if (high === undefined || low === undefined) throw new TypeError('A half is missing')
      return joinHalves(high, low)
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof SvcError)) throw error
      const isDenied = error.code === 'coprocessor-access-denied'
      const isEarly = elapsedSince(clock, beganAt) < patienceMs
      const isPassing = isDenied ? isEarly : error.retryable && (isEarly || failures < minTries)
      if (!isPassing) throw error
      log.warning(`Job ${jobId}: ${error.message}; trying again`)
      await clock.sleep(retryMs, signal)
    }
  }
}

function joinHalves(high: bigint, low: bigint): Uint8Array<ArrayBuffer> {
  try {
    return joinKey({ high, low })
  } catch (error) {
    throw new SvcError('blob-unreadable', 'CoFHE decrypt failed: a half is no uint128', {
      hint: 'The owner of the key has to encrypt both halves as uint128.',
      cause: error,
    })
  }
}

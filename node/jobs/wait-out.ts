import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { JobDeps } from './job-deps.ts'

const outageMs = 40_000
const againMs = 2_000

/** Repeats work that fails in passing, for 40 s. An assignment that is given back costs its job one of the three tries of a seat. */
export function waitOut<T>(
  { clock, log }: Pick<JobDeps, 'clock' | 'log'>,
  jobId: JobId,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const beganAt = clock.monotonic()
  const onTrouble = (error: SvcError) => {
    if (elapsedSince(clock, beganAt) >= outageMs) throw error
    log.warning(`Job ${jobId}: ${error.message}; trying again`)
  }
  return repeatPassing(clock, signal, onTrouble, work)
}

/** Repeats work that fails in passing, until `signal` aborts or `onTrouble` throws. */
export async function repeatPassing<T>(
  clock: Clock,
  signal: AbortSignal,
  onTrouble: (error: SvcError) => void,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof SvcError && error.retryable)) throw error
      onTrouble(error)
      await clock.sleep(againMs, signal)
    }
  }
}

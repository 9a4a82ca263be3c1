import { elapsedSince } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { JobDeps } from './job-deps.ts'

const outageMs = 40_000
const againMs = 2_000

/** Repeats work that fails in passing, for 40 s. An assignment that is given back costs its job one of the three tries of a seat. */
export async function waitOut<T>(
  { clock, log }: Pick<JobDeps, 'clock' | 'log'>,
  jobId: JobId,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const beganAt = clock.monotonic()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      const isPassing = error instanceof SvcError && error.retryable
      if (!isPassing || elapsedSince(clock, beganAt) >= outageMs) throw error
      log.warning(`Job ${jobId}: ${error.message}; trying again`)
      await clock.sleep(againMs, signal)
    }
  }
}

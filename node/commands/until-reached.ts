import type { Clock } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { SvcError } from '../../lib/svc-error.ts'

const firstRetryMs = 2_000
const maxRetryMs = 60_000

/** True for an error of something that may be away for now. */
export const isRetryable = (error: unknown): boolean => error instanceof SvcError && error.retryable

/** Retries `ask` with a growing backoff while its errors are passing, by default the retryable ones, and calls `tell` for each. Undefined once `signal` aborts. */
export async function untilReached<T>(
  clock: Clock,
  signal: AbortSignal,
  ask: () => Promise<T>,
  tell: (why: string, nextMs: number) => void,
  isPassing = isRetryable,
): Promise<T | undefined> {
  for (let waitMs = firstRetryMs; !signal.aborted; ) {
    try {
      return await ask()
    } catch (error) {
      if (signal.aborted) return undefined
      if (!isPassing(error)) throw error
      tell(errorText(error), waitMs)
    }
    await clock.sleep(waitMs, signal).catch(() => {})
    waitMs = Math.min(waitMs * 2, maxRetryMs)
  }
  return undefined
}

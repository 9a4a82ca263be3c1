import { retryAfterMsFor } from '../api.ts'
import { type Clock, elapsedSince } from '../clock.ts'
import { ProblemError } from '../problem.ts'
import { retrying } from '../retry.ts'
import { SvcError } from '../svc-error.ts'

/** The longest outage that a client waits for, in milliseconds. After an outage the ICL adds as much to its jobs' deadlines. */
export const longestOutageMs = 300_000

/** True when the same call may succeed later. */
export const isPassing = (
  error: unknown,
): error is (ProblemError | SvcError) & { readonly retryable: true } =>
  (error instanceof ProblemError || error instanceof SvcError) && error.retryable

/**
 * Runs a step that an accepted job still needs, and retries it for `forMs` milliseconds. Waits 0.5 to 10 s between attempts, or as long as
 * the ICL asks for. Throws the last error, an error that is not retryable, or the signal's reason.
 */
export function outlast<T>(
  clock: Clock,
  progress: (detail: string) => void,
  signal: AbortSignal | undefined,
  body: () => Promise<T>,
  forMs: number = longestOutageMs,
): Promise<T> {
  const beganAt = clock.monotonic()
  const waitFor = (error: unknown): number | undefined => {
    if (!isPassing(error) || elapsedSince(clock, beganAt) >= forMs) return undefined
    progress(`tried again: ${error.code}`)
    return retryAfterMsFor(error)
  }
  const policy = { attempts: Number.POSITIVE_INFINITY, firstDelayMs: 500, maxDelayMs: 10_000 }
  return retrying(clock, policy, signal, waitFor, body)
}

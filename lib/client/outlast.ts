import { retryAfterMsFor } from '../api.ts'
import { type Clock, elapsedSince } from '../clock.ts'
import { ProblemError } from '../problem.ts'
import { retrying } from '../retry.ts'
import { SvcError } from '../svc-error.ts'

/** Milliseconds that an ICL which was away adds to its jobs' deadlines: the longest outage that a client waits for. */
export const longestOutageMs = 300_000

/** Whether the same call may succeed later. */
export const isPassing = (
  error: unknown,
): error is (ProblemError | SvcError) & { readonly retryable: true } =>
  (error instanceof ProblemError || error instanceof SvcError) && error.retryable

/**
 * Runs what an accepted job still needs until it succeeds. What passes is tried again after 0.5 to 10 s, or when the ICL says, for five
 * minutes. Throws the last error, an error that does not pass at once, or the signal's reason.
 */
export function outlast<T>(
  clock: Clock,
  progress: (detail: string) => void,
  signal: AbortSignal | undefined,
  body: () => Promise<T>,
): Promise<T> {
  const beganAt = clock.monotonic()
  const waitFor = (error: unknown): number | undefined => {
    if (!isPassing(error) || elapsedSince(clock, beganAt) >= longestOutageMs) return undefined
    progress(`${error.code}: it is tried again`)
    return retryAfterMsFor(error)
  }
  const policy = { attempts: Number.POSITIVE_INFINITY, firstDelayMs: 500, maxDelayMs: 10_000 }
  return retrying(clock, policy, signal, waitFor, body)
}

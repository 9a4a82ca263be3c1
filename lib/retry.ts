import type { Clock } from './clock.ts'

/** How many attempts to make, and how long to wait between them. */
export type RetryPolicy = {
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
}

/** Retries `body` until it succeeds, fails for good, or has used its attempts. Delays double, and are at least what the error asks for. */
export async function retrying<T>(
  clock: Clock,
  policy: RetryPolicy,
  signal: AbortSignal | undefined,
  /** Milliseconds to wait at least; undefined when a retry is of no use. */
  retryAfterMs: (error: unknown) => number | undefined,
  body: (attempt: number) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await body(attempt)
    } catch (error) {
      const asked = signal?.aborted ? undefined : retryAfterMs(error)
      if (asked === undefined || attempt >= policy.attempts) throw error
      const backoff = Math.min(policy.firstDelayMs * 2 ** (attempt - 1), policy.maxDelayMs)
      await clock.sleep(Math.max(asked, backoff), signal)
    }
  }
}

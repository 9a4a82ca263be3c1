import type { Clock } from '../../lib/clock.ts'

/** Runs `body` at once and again `periodMs` after each pass, until `signal` aborts. Reports a pass that fails, and goes on. */
export async function every(
  clock: Clock,
  periodMs: number,
  signal: AbortSignal,
  body: () => Promise<void>,
  onError: (error: unknown) => void = () => {},
): Promise<void> {
  while (!signal.aborted) {
    try {
      await body()
    } catch (error) {
      // An aborted pass has not failed.
      if (!signal.aborted) onError(error)
    }
    await clock.sleep(periodMs, signal).catch(() => {})
  }
}

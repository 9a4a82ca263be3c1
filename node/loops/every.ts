import type { Clock } from '../../lib/clock.ts'

/** Runs `body` at once and then `periodMs` after each pass until `signal` aborts; a pass that fails is reported and the loop goes on. */
export async function every(
  clock: Clock,
  periodMs: number,
  signal: AbortSignal,
  body: () => Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await body()
    } catch (error) {
      // What an abort breaks off has not failed.
      if (!signal.aborted) onError(error)
    }
    await clock.sleep(periodMs, signal).catch(() => {})
  }
}

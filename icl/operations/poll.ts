import { elapsedSince } from '../../lib/clock.ts'
import type { Dependencies } from '../dependencies.ts'

// One error for all looks: creating one for each would cost more than the look.
const over = new Error('The look is over')

/** Looks until there is enough to see, or until `ms` milliseconds have passed. Waits for news under `keys` in between. */
export async function pollUntil<T>(
  { notifier, clock }: Dependencies,
  keys: readonly string[],
  ms: number,
  signal: AbortSignal | undefined,
  look: () => Promise<{ readonly seen: T; readonly enough: boolean }>,
): Promise<T> {
  const beganAt = clock.monotonic()
  for (;;) {
    const looked = new AbortController()
    const left = Math.max(ms - elapsedSince(clock, beganAt), 0)
    // The wait starts before the look, so that no news in between is missed.
    const news = notifier.wait(keys, left, anySignal(signal, looked.signal))
    const { seen, enough } = await look().catch((error: unknown) => {
      looked.abort(over)
      throw error
    })
    if (enough || left === 0 || signal?.aborted || notifier.closed) {
      looked.abort(over)
      return seen
    }
    await news
  }
}

const anySignal = (a: AbortSignal | undefined, b: AbortSignal): AbortSignal =>
  a ? AbortSignal.any([a, b]) : b

import type { Clock } from '../../lib/clock.ts'

// One for all: an error for each timer would cost more than the timer.
const over = new Error('The wait is over')

/** Resolves once the work has ended, or after `ms`; rejects when the work does by then. */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, clock.sleep(ms, timer.signal).catch(() => {})])
  timer.abort(over)
}

import type { Clock } from '../../lib/clock.ts'

// One error for all timers: a new one would cost more than the timer.
const over = new Error('The wait is over')

/** Resolves when the work ends or after `ms`, whichever comes first. Rejects when the work rejects before. */
export async function atMost(clock: Clock, ms: number, work: Promise<unknown>): Promise<void> {
  const timer = new AbortController()
  await Promise.race([work, clock.sleep(ms, timer.signal).catch(() => {})])
  timer.abort(over)
}

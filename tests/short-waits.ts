import type { Clock } from '../lib/clock.ts'
import { systemClock } from '../lib/system.ts'

/** The host's clock, on which the pauses between tries (up to 3 s) take no time. Deadlines stay as long as they are. */
export const shortWaits: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms > 3_000 ? ms : 0, signal),
}

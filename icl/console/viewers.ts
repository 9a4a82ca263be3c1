import { ProblemError } from '../../lib/problem.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const mostViewers = 256
const mostPerAddress = 16

/** Counts the viewers that follow the console. */
export type Viewers = ReturnType<typeof createViewers>

/** Creates a count with room for 256 viewers at once, 16 of one address. */
export function createViewers(metrics: Metrics) {
  const viewers = new Map<string, number>()
  let all = 0
  return {
    /** Adds a viewer, and returns a function that removes it, to be called once. Throws `rate-limited` at the limit. */
    enter: (address: string) => {
      if (all >= mostViewers || (viewers.get(address) ?? 0) >= mostPerAddress) {
        throw new ProblemError(
          'rate-limited',
          'Too many viewers follow the console. Try again later',
          { retryAfterSeconds: 15 },
        )
      }
      all += 1
      viewers.set(address, (viewers.get(address) ?? 0) + 1)
      metrics.held('events', 1)
      return () => {
        metrics.held('events', -1)
        all -= 1
        const left = (viewers.get(address) ?? 1) - 1
        if (left > 0) viewers.set(address, left)
        else viewers.delete(address)
      }
    },
  }
}

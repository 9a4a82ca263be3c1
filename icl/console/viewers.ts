import { ProblemError } from '../../lib/problem.ts'
import type { Metrics } from '../telemetry/metrics.ts'

const mostViewers = 256
const mostPerAddress = 16

/** Counts who follows the console. */
export type Viewers = {
  /** Counts one more; the function that it returns ends it. Throws `rate-limited` when as many follow as may. */
  enter(address: string): () => void
}

/** Lets 256 follow at once, 16 of one address. */
export function createViewers(metrics: Metrics): Viewers {
  const viewers = new Map<string, number>()
  let all = 0
  return {
    enter: (address) => {
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

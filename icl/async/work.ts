import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { createFailures } from '../telemetry/failures.ts'
import type { Log } from '../telemetry/log.ts'

const firstPauseMs = 500
const longestPauseMs = 10_000

/** Named pieces of work that run concurrently, each at most once at a time. */
export type Work = ReturnType<typeof createWork>

type Failure = { readonly times: number; readonly at: MonotonicMs; readonly pauseMs: number }

/** Creates an empty set of work. Logs failures as `createFailures` does. After a failure a piece pauses with exponential backoff. */
export function createWork({ clock, log }: { readonly clock: Clock; readonly log: Log }) {
  const underWay = new Map<string, Promise<void>>()
  const failures = createFailures({ clock, log }, 'background work failed')
  const failed = new Map<string, Failure>()
  const restsMs = ({ at, pauseMs }: Failure) => pauseMs - elapsedSince(clock, at)
  const run = async (name: string, work: () => Promise<void>) => {
    try {
      await work()
      failed.delete(name)
      failures.passed(name)
    } catch (error) {
      const times = (failed.get(name)?.times ?? 0) + 1
      const pauseMs = Math.min(firstPauseMs * 2 ** (times - 1), longestPauseMs)
      failed.set(name, { times, at: clock.monotonic(), pauseMs })
      failures.failed(name, error)
    } finally {
      underWay.delete(name)
    }
  }
  const forget = () => {
    for (const [name, failure] of failed) {
      if (restsMs(failure) >= -longestPauseMs) continue
      failed.delete(name)
      failures.passed(name)
    }
  }
  return {
    /** The number of running pieces. */
    get size() {
      return underWay.size
    },
    /** The number of pieces whose last run failed. A piece that is not retried within 10 s after its pause is forgotten. */
    get failed() {
      return failed.size
    },
    /** Starts a piece unless it is running, or pauses after a failure. Resolves once it has ended, and never rejects. */
    start: async (name: string, work: () => Promise<void>): Promise<void> => {
      const failure = failed.get(name)
      if (underWay.has(name) || (failure && restsMs(failure) > 0)) return
      forget()
      const piece = run(name, work)
      underWay.set(name, piece)
      await piece
    },
    /** Resolves once no piece is running. */
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay.values())
    },
  }
}

import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { createFailures } from '../telemetry/failures.ts'
import type { Log } from '../telemetry/log.ts'

const firstPauseMs = 500
const longestPauseMs = 10_000

/** Pieces of work that run side by side, each at most once at a time. */
export type Work = {
  /** Starts a piece unless it is under way, or has failed a moment ago; resolves once it has ended, and never rejects. */
  start(name: string, work: () => Promise<void>): Promise<void>
  /** Pieces under way. */
  readonly size: number
  /** Pieces that failed, and were not started again since. */
  readonly failed: number
  /** Resolves once nothing is under way. */
  idle(): Promise<void>
}

type Failure = { readonly times: number; readonly at: MonotonicMs; readonly pauseMs: number }

/** Makes an empty set of work; what fails is logged as `createFailures` does, and may be started again after a pause that grows. */
export function createWork({ clock, log }: { readonly clock: Clock; readonly log: Log }): Work {
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
    get size() {
      return underWay.size
    },
    get failed() {
      return failed.size
    },
    start: async (name, work) => {
      const failure = failed.get(name)
      if (underWay.has(name) || (failure && restsMs(failure) > 0)) return
      forget()
      const piece = run(name, work)
      underWay.set(name, piece)
      await piece
    },
    idle: async () => {
      while (underWay.size > 0) await Promise.all(underWay.values())
    },
  }
}

import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { ProblemCode } from '../../lib/problem-codes.ts'

const minuteMs = 60_000
const shownMinutes = 60

/** Refusals that the request itself does not cause: the service was busy, or the caller had used its share. */
const counted: ReadonlySet<ProblemCode> = new Set([
  'not-enough-nodes',
  'not-enough-serving',
  'model-limited',
  'model-withdrawn',
  'too-many-jobs',
  'quota-exceeded',
  'rate-limited',
  'chain-unavailable',
  'unavailable',
])

/** The requests that this process refused in the last hour for load, limits or lack of nodes. */
export type Refusals = ReturnType<typeof createRefusals>

/** Creates a count by the minute, which drops what is older than an hour. */
export function createRefusals(clock: Pick<Clock, 'monotonic'>) {
  const minutes = new Map<number, Map<ProblemCode, number>>()
  const startedAt = clock.monotonic()
  const minuteNow = () => Math.floor(elapsedSince(clock, startedAt) / minuteMs)
  const forget = (now: number) => {
    for (const minute of minutes.keys()) if (minute <= now - shownMinutes) minutes.delete(minute)
  }
  return {
    note: (code: ProblemCode): void => {
      if (!counted.has(code)) return
      const now = minuteNow()
      forget(now)
      const counts = minutes.get(now) ?? new Map<ProblemCode, number>()
      minutes.set(now, counts.set(code, (counts.get(code) ?? 0) + 1))
    },
    /** Returns how many there were, by code. */
    counts: () => {
      forget(minuteNow())
      const total: Record<string, number> = {}
      for (const counts of minutes.values()) {
        for (const [code, count] of counts) total[code] = (total[code] ?? 0) + count
      }
      return total
    },
  }
}

import type { ConsoleJob, ConsoleMinute } from '../../lib/schemas/console.ts'

const minuteSeconds = 60
const shownMinutes = 60

/** Counts the jobs that settled in each minute of the last hour, the current minute last; `now` is in Unix seconds. */
export function minutesOf(jobs: Iterable<ConsoleJob>, now: number): readonly ConsoleMinute[] {
  const last = Math.floor(now / minuteSeconds)
  const first = last - shownMinutes
  const settled = new Map<number, ConsoleJob[]>()
  for (const job of jobs) {
    const minute = Math.floor((job.settled_at ?? 0) / minuteSeconds)
    if (minute < first) continue
    const others = settled.get(minute) ?? []
    others.push(job)
    settled.set(minute, others)
  }
  return Array.from({ length: shownMinutes + 1 }, (_, index) => {
    const minute = first + index
    return minuteOf(minute * minuteSeconds, settled.get(minute) ?? [])
  })
}

function minuteOf(at: number, jobs: readonly ConsoleJob[]): ConsoleMinute {
  const accepted = jobs.filter(({ status }) => status === 'accepted')
  const cancelled = jobs.filter(({ status }) => status === 'cancelled').length
  const durations = accepted.flatMap(({ seconds }) => seconds ?? []).sort((a, b) => a - b)
  const median = quantile(durations, 0.5)
  const p95 = quantile(durations, 0.95)
  return {
    at,
    accepted: accepted.length,
    failed: jobs.length - accepted.length - cancelled,
    cancelled,
    ...(median !== undefined && { median_seconds: median }),
    ...(p95 !== undefined && { p95_seconds: p95 }),
  }
}

/** Returns the quantile of sorted values by nearest rank; undefined without values. */
const quantile = (sorted: readonly number[], share: number): number | undefined =>
  sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)]

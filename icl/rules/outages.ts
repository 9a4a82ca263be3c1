import { changeTo, type Job, jobMs, recorded, type Transition } from './job.ts'

/**
 * An outage is a time in which the ICL was down, frozen, or without its database. It says nothing about nodes, so up to 5 minutes of it
 * count neither for a deadline nor as silence of a node. Each job records the last outage for which its deadlines were moved, and every use
 * of a job first moves them, once for each outage. The job itself ends at most 10 minutes later, however many outages there are: the client
 * lets nodes be activated until then, and the nodes' session keys last as long.
 */

/** A time in which no replica of the ICL could be reached, in milliseconds. */
export type Outage = { readonly from: number; readonly until: number }

/** The most that is excused of one outage, in milliseconds. */
const longestExcusedMs = 300_000

/** The most that all outages together add to a job's life, in milliseconds. */
export const mostExcusedMs = 600_000

/** The latest possible end of a job, whatever outages come; in milliseconds. */
export const latestDeadlineOf = ({ createdAt }: Pick<Job, 'createdAt'>): number =>
  createdAt + jobMs + mostExcusedMs

/** How long after an outage no assignment and no turn lapses, in milliseconds: nodes have to find out that the ICL is back. */
const comeBackMs = 15_000

const excusedMs = ({ from, until }: Outage): number => Math.min(until - from, longestExcusedMs)

/** Milliseconds since `at`, without excused outages. A time ahead counts as now, or as infinitely long ago when over 5 minutes ahead. */
export function ageOf(at: number, now: number, outages: readonly Outage[]): number {
  if (at - now > longestExcusedMs) return Number.POSITIVE_INFINITY
  const excused = outages
    .filter(({ until }) => until > at && until <= now)
    .map(({ from, until }) => excusedMs({ from: Math.max(from, at), until }))
    .reduce((sum, ms) => sum + ms, 0)
  return Math.max(now - at - excused, 0)
}

/** The outages since the job was created for which its deadlines were not moved yet, in time order. */
const missedBy = (job: Job, outages: readonly Outage[]): readonly Outage[] =>
  job.settledAt === undefined && outages.length > 0
    ? outages
        .filter(({ until }) => until > Math.max(job.createdAt, job.excusedUntil ?? 0))
        .toSorted((a, b) => a.until - b.until)
    : []

/** The job with its deadlines moved for these outages. Returns the same job when nothing is left to move. */
export const excuse = (job: Job, outages: readonly Outage[]): Job =>
  missedBy(job, outages).reduce(excuseOne, job)

function excuseOne(job: Job, outage: Outage): Job {
  const { from, until } = outage
  const ms = excusedMs(outage)
  const later = (deadline: number) => Math.max(deadline + ms, until + comeBackMs)
  // A job that was about to end also gets the time to come back. After a longer outage it may be over.
  const least = until - from <= longestExcusedMs ? until + comeBackMs : 0
  return {
    ...job,
    excusedUntil: until,
    deadline: Math.min(Math.max(job.deadline + ms, least), latestDeadlineOf(job)),
    assignments: job.assignments.map((assignment) => {
      const { deadline, status, claimedAt } = assignment
      if (deadline === undefined) return assignment
      const moved = { ...assignment, deadline: later(deadline) }
      if (status !== 'claimed' || claimedAt === undefined) return moved
      // An outage is no time in which the node worked on its answer.
      const awayMs = excusedMs({ from: Math.max(from, claimedAt), until })
      return { ...moved, claimedAt: claimedAt + Math.max(awayMs, 0) }
    }),
    ...(job.weighing && {
      weighing: { ...job.weighing, deadline: later(job.weighing.deadline) },
    }),
    ...(job.agreement && {
      agreement: {
        ...job.agreement,
        turns: job.agreement.turns.map((turn) =>
          turn.failed ? turn : { ...turn, deadline: later(turn.deadline) },
        ),
      },
    }),
  }
}

/** Moves a job's deadlines, and records it in the job's history. */
export function missTime(job: Job, outages: readonly Outage[]): Transition {
  let moved = job
  for (const outage of missedBy(job, outages)) {
    const detail = `${Math.round(excusedMs(outage) / 1000)} s`
    moved = recorded(excuseOne(moved, outage), outage.until, 'time-away', { detail })
  }
  return changeTo(moved)
}

import { type Job, jobMs, recorded, type Transition } from './job.ts'

/**
 * An outage is time in which nobody could reach the ICL: it was down, frozen, or without its database. What it measured meanwhile
 * says nothing of nodes, so that an outage of up to 5 minutes counts for no deadline and for no node's silence.
 *
 * Nothing sweeps through the jobs after an outage. Each job notes up to which outage its deadlines were moved, and whatever is done
 * with it is done after that: a job is moved once for each outage, however often the ICL is killed in between.
 *
 * Offers, leases and turns are moved by every outage, so that none costs a node a point. The job itself ends at most 10 minutes later,
 * however many outages there are: its client has let nodes be added until then, and its nodes' session keys last so long.
 */

/** Time in which no replica of the ICL could be reached, in milliseconds. */
export type Outage = { readonly from: number; readonly until: number }

/** What of an outage counts for nothing, in milliseconds. */
const longestExcusedMs = 300_000

/** What all outages together add to a job's life at most. */
export const mostExcusedMs = 600_000

/** When a job ends at the latest, whatever outages come. */
export const latestDeadlineOf = ({ createdAt }: Pick<Job, 'createdAt'>): number =>
  createdAt + jobMs + mostExcusedMs

/** How long after an outage no assignment and no turn lapses: nodes have to find out that the ICL is back. */
const comeBackMs = 15_000

const excusedMs = ({ from, until }: Outage): number => Math.min(until - from, longestExcusedMs)

/** Milliseconds since `at` that count for what happened then. A time that is to come is now, unless it is minutes off: then it means nothing. */
export function ageOf(at: number, now: number, outages: readonly Outage[]): number {
  if (at - now > longestExcusedMs) return Number.POSITIVE_INFINITY
  const excused = outages
    .filter(({ until }) => until > at && until <= now)
    .map(({ from, until }) => excusedMs({ from: Math.max(from, at), until }))
    .reduce((sum, ms) => sum + ms, 0)
  return Math.max(now - at - excused, 0)
}

/** The outages since a job came that its deadlines do not heed yet, the first one first. */
const missedBy = (job: Job, outages: readonly Outage[]): readonly Outage[] =>
  job.settledAt === undefined
    ? outages
        .filter(({ until }) => until > Math.max(job.createdAt, job.excusedUntil ?? 0))
        .toSorted((a, b) => a.until - b.until)
    : []

/** The job with every deadline as much later as the ICL was away; the very same job when that is so already. */
export const excuse = (job: Job, outages: readonly Outage[]): Job =>
  missedBy(job, outages).reduce(excuseOne, job)

function excuseOne(job: Job, outage: Outage): Job {
  const { from, until } = outage
  const ms = excusedMs(outage)
  const later = (deadline: number) => Math.max(deadline + ms, until + comeBackMs)
  // A job that was about to end gets the time to come back, too; after a longer outage it may be over.
  const least = until - from <= longestExcusedMs ? until + comeBackMs : 0
  return {
    ...job,
    excusedUntil: until,
    deadline: Math.min(Math.max(job.deadline + ms, least), latestDeadlineOf(job)),
    assignments: job.assignments.map((assignment) =>
      assignment.deadline === undefined
        ? assignment
        : { ...assignment, deadline: later(assignment.deadline) },
    ),
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

/** Moves a job's deadlines, and says so in its history. */
export function missTime(job: Job, outages: readonly Outage[]): Transition {
  let moved = job
  for (const outage of missedBy(job, outages)) {
    const detail = `${Math.round(excusedMs(outage) / 1000)} s`
    moved = recorded(excuseOne(moved, outage), outage.until, 'time-away', { detail })
  }
  return { job: moved, effects: [] }
}

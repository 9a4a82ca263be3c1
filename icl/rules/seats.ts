import { type Assignment, isHeld, isRevealing, type Job } from './job.ts'

/** The latest assignment of a seat. */
export const assignmentAt = (job: Job, seat: number): Assignment | undefined =>
  job.assignments.findLast((assignment) => assignment.seat === seat)

/** Reasons that say nothing about the job. Assignments that end with one do not count as attempts at the seat. */
const uncountedReasons: ReadonlySet<string> = new Set(['node-busy', 'node-left'])

/** True while one of the job's assignments waits until its node may read the keys. */
export const awaitsGrant = (job: Job): boolean =>
  currentAssignments(job).some(
    // A node that may read them and only has no free slot has a deadline.
    ({ status, deadline }) => status === 'awaiting-grant' && deadline === undefined,
  )

/** How many attempts at a seat count. */
export const attemptsAt = (job: Job, seat: number): number =>
  job.assignments.filter(
    (assignment) => assignment.seat === seat && !uncountedReasons.has(assignment.reason ?? ''),
  ).length

/** The latest assignment of every seat that was ever filled. */
export function currentAssignments(job: Job): readonly Assignment[] {
  return seatsOf(job).flatMap((seat) => assignmentAt(job, seat) ?? [])
}

/** The current assignments whose deadlines count. Once the client has cancelled, these are only the ones that are being revealed. */
export const timedAssignments = (job: Job): readonly Assignment[] =>
  currentAssignments(job).filter(
    (assignment) =>
      assignment.deadline !== undefined &&
      (job.cancelledAt === undefined || isRevealing(assignment)),
  )

/** The seats that no assignment holds. */
export const emptySeats = (job: Job): readonly number[] =>
  seatsOf(job).filter((seat) => !isHeld(assignmentAt(job, seat)?.status ?? 'lapsed'))

/** The number of seats so far. */
export const seatCount = ({ batches }: Pick<Job, 'batches'>): number =>
  batches.reduce((sum, size) => sum + size, 0)

const seatsOf = (job: Job): readonly number[] =>
  Array.from({ length: seatCount(job) }, (_, seat) => seat)

/** The batch that a seat belongs to. */
export function batchOf({ batches }: Pick<Job, 'batches'>, seat: number): number {
  let end = 0
  return batches.findIndex((size) => {
    end += size
    return seat < end
  })
}

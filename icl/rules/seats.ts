import { causes } from '../../lib/causes.ts'
import type { BatchCommitment } from '../../lib/schemas/statements.ts'
import { type Assignment, isHeld, isRevealing, type Job, type MemberState } from './job.ts'
import { isTooSlow } from './lease.ts'

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
export const currentAssignments = (job: Job): readonly Assignment[] =>
  seatsOf(job).flatMap((seat) => assignmentAt(job, seat) ?? [])

/** True for a node that did not reveal in time, while no other node has its seat. */
export const mayStillReveal = (job: Job, assignment: Assignment): boolean =>
  assignment.status === 'lapsed' &&
  assignment.reason === 'never-revealed' &&
  job.agreement === undefined &&
  assignmentAt(job, assignment.seat)?.fence === assignment.fence

/** The current assignments whose deadlines count. */
export const timedAssignments = (job: Job): readonly Assignment[] =>
  currentAssignments(job).filter(({ deadline }) => deadline !== undefined)

/** The seats that no assignment holds. */
export const emptySeats = (job: Job): readonly number[] =>
  seatsOf(job).filter((seat) => !isHeld(assignmentAt(job, seat)?.status ?? 'lapsed'))

const seatsOf = ({ seats }: Job): readonly number[] =>
  Array.from({ length: seats }, (_, seat) => seat)

/** True once the node of an assignment may know the commitments of its batch. */
const isOpened = (assignment: Assignment): boolean =>
  assignment.status === 'revealed' ||
  assignment.reason === 'never-revealed' ||
  isRevealing(assignment)

/** The batch of a seat that is filled now: the first whose commitments no node knows. */
export const nextBatch = ({ assignments }: Job): number =>
  Math.max(-1, ...assignments.filter(isOpened).map(({ batch }) => batch)) + 1

/** The commitments of a batch that its nodes may know, by fence. */
export const commitmentsOf = ({ assignments }: Job, batch: number): BatchCommitment[] =>
  assignments
    .filter((assignment) => assignment.batch === batch && isOpened(assignment))
    .flatMap(({ node: address, fence, commitment }) =>
      commitment === undefined ? [] : [{ address, fence, commitment }],
    )

/** The positions on the list that never had a seat, in order. */
export function unseated({ list, assignments }: Job): readonly number[] {
  const had = new Set(assignments.map(({ position }) => position))
  return list.members.flatMap((_, position) => (had.has(position) ? [] : [position]))
}

/**
 * The assignments whose nodes may have a seat again, in the list's order: they gave their seats back for a cause that passes before the
 * job's deadline. One that was too slow needs time for another try as long. A node that has committed gets no other seat, because it would
 * answer twice.
 */
export function returnable({ list, assignments, deadline }: Job): readonly Assignment[] {
  return list.members.flatMap((_, position) => {
    const own = assignments.filter((assignment) => assignment.position === position)
    const last = own.at(-1)
    const hasCommitted = own.some(({ commitment }) => commitment !== undefined)
    if (!last || isHeld(last.status) || hasCommitted) return []
    if ((last.returnAt ?? 0) >= deadline || isTooSlowAgain(last, deadline)) return []
    return last.reason !== undefined && causes[last.reason].passes ? [last] : []
  })
}

/** True for a node that was too slow, and has less time now. */
function isTooSlowAgain(last: Assignment, deadline: number): boolean {
  const { claimedAt, endedAt } = last
  if (!isTooSlow(last) || claimedAt === undefined || endedAt === undefined) return false
  return endedAt + (endedAt - claimedAt) >= deadline
}

/** The positions on the list that could still have a seat. */
export const seatable = (job: Job): readonly number[] => [
  ...unseated(job),
  ...returnable(job).map(({ position }) => position),
]

/** How long a job waits for a node that had a seat and is away, in milliseconds: a restart must not cost a pool of three its job. */
const awayMs = 120_000

/**
 * True when there are more empty seats than members of the list that may still come. These are the members that never had a seat, and those
 * that may return and are present or only briefly away. One that has withdrawn the model for the rest of the job does not come. A seat whose
 * own node may still reveal does not count as empty. For seats that were added to find an agreement, the job does not wait for an absent
 * member that never had a seat. When it `isLate`, no member comes.
 */
export function isUsedUp(
  job: Job,
  members: readonly MemberState[],
  now: number,
  isLate: boolean,
): boolean {
  const isThere = (position: number) => members[position] === 'fit' || members[position] === 'busy'
  const isRecent = ({ endedAt = now, returnAt = 0 }: Assignment) =>
    now < Math.max(endedAt, returnAt, job.excusedUntil ?? 0) + awayMs
  const seats = emptySeats(job)
  const isAdded = seats.every((seat) => seat >= job.list.terms.quorum)
  const mayCome = (position: number) => !isAdded && members[position] !== 'withdrawn'
  const first = unseated(job).filter((position) => isThere(position) || mayCome(position))
  const again = returnable(job).filter(
    (last) => isThere(last.position) || (members[last.position] !== 'withdrawn' && isRecent(last)),
  )
  const lost = seats.filter((seat) => {
    const last = assignmentAt(job, seat)
    return !(last && mayStillReveal(job, last) && isRecent(last))
  })
  return lost.length > (isLate ? 0 : first.length + again.length)
}

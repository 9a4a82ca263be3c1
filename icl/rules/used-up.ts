import { mayStillReveal } from './answers.ts'
import type { MemberState } from './commands.ts'
import type { Assignment, Job } from './job.ts'
import { assignmentAt, emptySeats } from './seats.ts'
import { returnable, unseated } from './unseated.ts'

/** How long a job waits for a node that had a seat and is away, in milliseconds: a restart must not cost a pool of three its job. */
const awayMs = 120_000

/**
 * True when there are more empty seats than members of the list that may still come. These are the members that never had a seat, and those
 * that may return and are present or only briefly away. A seat whose own node may still reveal does not count as empty. For seats that were
 * added to find an agreement, the job does not wait for an absent member that never had a seat.
 */
export function isUsedUp(job: Job, members: readonly MemberState[], now: number): boolean {
  const isThere = (position: number) => members[position] === 'fit' || members[position] === 'busy'
  const isRecent = ({ endedAt = now }: Assignment) =>
    now < Math.max(endedAt, job.excusedUntil ?? 0) + awayMs
  const seats = emptySeats(job)
  const isAdded = seats.every((seat) => seat >= job.list.terms.quorum)
  const first = unseated(job).filter((position) => !isAdded || isThere(position))
  const again = returnable(job).filter((last) => isThere(last.position) || isRecent(last))
  const lost = seats.filter((seat) => {
    const last = assignmentAt(job, seat)
    return !(last && mayStillReveal(job, last) && isRecent(last))
  })
  return lost.length > first.length + again.length
}

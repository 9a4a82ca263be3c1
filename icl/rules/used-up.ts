import { mayStillReveal } from './answers.ts'
import type { MemberState } from './commands.ts'
import type { Assignment, Job } from './job.ts'
import { assignmentAt, emptySeats } from './seats.ts'
import { returnable, unseated } from './unseated.ts'

/** How long a node that had a seat is waited for while it is away: a restart must not cost a pool of three its job. */
const awayMs = 120_000

/**
 * True when nobody can fill the empty seats any more: they are more than the members of the list that may still come. These are the ones that
 * never had a seat, and those that may return and are there, or have been away for a moment only. Nor is a seat lost whose own node may still
 * open its commitment. For seats that were added to find an agreement, a member that is away before it had a seat is not waited for.
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

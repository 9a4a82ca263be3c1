/*
 * Problem: a job must go on although nodes go silent, have no free slot, or leave. It must end when no node is left.
 *
 * Idea: every job has a time for its next tick (tickAt). A tick ends what is overdue, takes seats from nodes that stay full
 * if others are free, and fills empty seats from the job's list, in this order. needsMembers tells the caller when to read
 * the states of the list's members before, because this function is pure.
 *
 * Invariants:
 * - An empty seat goes to the earliest member of the list that never had a seat and is fit. Each earlier member that
 *   never had a seat is passed over, and the job records its position and the reason.
 * - A node that gave its seat back may return only when no fit member without a former seat is left. Its reason must be
 *   one that passes, and it must not have committed. The pause before grows with each attempt, so that a member that stays
 *   busy holds up no other.
 * - A node is scored for an offer, a lease or a reveal that it let pass. It is not scored for waiting for a grant. The leader alone is
 *   scored for having no free slot or being away.
 *
 * Failure cases, with the end of the job: the deadline has passed (expired). A seat has used up its attempts, or three
 * nodes named the same cause in the job itself and fewer committed (expired, attempts-exhausted). Two nodes
 * could not open the prompt, also after a commitment (the same end): the client may have left them out. A seat is empty,
 * and another answer would come too late (expired, deadline-passed). There are
 * more empty seats than members of the list that may still come (expired, list-used-up, or disputed when the seats were
 * added to find an agreement). In all other cases an empty seat waits, and is tried again after refillMs.
 */
import { causes } from '../../lib/causes.ts'
import { mostAssignments } from '../../lib/schemas/jobs.ts'
import { currentTurn } from './agreed.ts'
import { neverRevealed, unoffered, vacated } from './assignments.ts'
import { lapseTurn } from './delivery.ts'
import { scoring } from './effects.ts'
import {
  type Assignment,
  afterwards,
  type Change,
  changeTo,
  isSettled,
  type Job,
  type MemberState,
  type Moment,
  type Passed,
  passReasonOf,
  recorded,
  withAssignment,
} from './job.ts'
import { isTooLate } from './lease.ts'
import {
  attemptsAt,
  awaitsGrant,
  emptySeats,
  isUsedUp,
  nextBatch,
  returnable,
  timedAssignments,
  unseated,
} from './seats.ts'
import { settle } from './settle.ts'
import { lapseWeighing } from './weighing.ts'

/** Ends what is overdue in a job and fills its empty seats from the list. `members` are the states of the list's members. */
export function tick(
  job: Job,
  members: readonly MemberState[] | undefined,
  moment: Moment,
): Change {
  const { now } = moment
  if (now >= job.deadline) {
    return currentTurn(job)?.settled
      ? settle(job, 'accepted', 'quorum-agreed', now)
      : settle(job, 'expired', job.reason ?? 'deadline-passed', now)
  }
  const turned = afterwards(lapse(job, now), (next) => lapseTurn(next, moment))
  const lapsed = afterwards(turned, (next) =>
    isSettled(next.phase) ? changeTo(next) : lapseWeighing(next, moment),
  )
  if (!members || isSettled(lapsed.job.phase)) return lapsed
  const vacant = afterwards(lapsed, (next) => vacateFullNodes(next, members, moment))
  return afterwards(vacant, (next) => fillSeats(next, members, moment))
}

/** True when the next tick needs the members' states: a seat is or may become empty, and it is time to fill it. */
export const needsMembers = (job: Job, now: number): boolean =>
  !isSettled(job.phase) &&
  now < job.deadline &&
  ((job.fillAt !== undefined && job.fillAt <= now) || overdueAssignments(job, now).length > 0)

const overdueAssignments = (job: Job, now: number): readonly Assignment[] =>
  timedAssignments(job).filter(({ deadline }) => deadline !== undefined && deadline <= now)

/** True for an assignment that waits until its node has a free slot. */
const waitsForSlot = ({ status }: Assignment): boolean => status === 'awaiting-grant'

const lookForSlotMs = 5_000

/** Takes assignments from nodes that stay full, as far as other members are free to take them. */
function vacateFullNodes(job: Job, members: readonly MemberState[], moment: Moment): Change {
  const { now } = moment
  const others = unseated(job).filter((position) => members[position] === 'fit').length
  let left = isTooLate(job, moment) ? 0 : others - emptySeats(job).length
  return overdueAssignments(job, now)
    .filter(waitsForSlot)
    .reduce(
      (change, assignment) =>
        afterwards(change, (next) =>
          left-- > 0
            ? unoffered(next, assignment, 'node-busy', now)
            : changeTo(withAssignment(next, assignment.fence, { deadline: now + lookForSlotMs })),
        ),
      changeTo(job),
    )
}

const lapse = (job: Job, now: number): Change =>
  overdueAssignments(job, now)
    .filter((assignment) => !waitsForSlot(assignment))
    .reduce(
      (change, assignment) => afterwards(change, (next) => lapseOne(next, assignment, now)),
      changeTo(job),
    )

function lapseOne(job: Job, assignment: Assignment, now: number): Change {
  const { status } = assignment
  if (status === 'committed') return neverRevealed(job, assignment, now)
  const code = status === 'offered' ? 'offer-lapsed' : 'lease-lapsed'
  return changeTo(vacated(job, assignment, 'lapsed', code, now), [scoring(assignment, code)])
}

function fillSeats(job: Job, members: readonly MemberState[], moment: Moment): Change {
  const { now, limits } = moment
  const seats = emptySeats(job)
  if (seats.length === 0) return changeTo(job)
  const isExhausted =
    seats.some((seat) => attemptsAt(job, seat) >= limits.maxAttempts) ||
    job.assignments.length + seats.length > mostAssignments
  if (isExhausted || failsAnywhere(job)) {
    return settle(job, 'expired', 'attempts-exhausted', now)
  }
  const isLate = isTooLate(job, moment)
  if (isUsedUp(job, members, now, isLate)) {
    return seats.every((seat) => seat >= job.list.terms.quorum)
      ? settle(job, 'disputed', 'quorum-disagreed', now)
      : settle(job, 'expired', isLate ? (job.reason ?? 'deadline-passed') : 'list-used-up', now)
  }
  // Only a node that may still reveal can take its own seat.
  if (isLate) return changeTo(afterFilling(job, moment))
  const free = unseated(job).filter((position) => members[position] === 'fit')
  const returning = returningMembers(job, members, now)
  const filled = seats.reduce((change, seat) => {
    const position = free.shift() ?? returning.shift()
    if (position === undefined) return change
    return afterwards(change, (next) =>
      seatMember(passing(next, position, members, now), seat, position, now),
    )
  }, changeTo(job))
  return afterwards(filled, (next) => changeTo(afterFilling(next, moment)))
}

const mostPassed = 64

/** Records every earlier member that never had a seat as passed over, once for each reason. */
function passing(job: Job, position: number, members: readonly MemberState[], now: number): Job {
  const passed = unseated(job).flatMap((earlier): Passed[] => {
    const reason = passReasonOf(members[earlier])
    if (earlier >= position || reason === undefined) return []
    const isNoted = job.passed.some((old) => old.position === earlier && old.reason === reason)
    return isNoted ? [] : [{ position: earlier, reason, at: now }]
  })
  return passed.length === 0
    ? job
    : { ...job, passed: [...job.passed, ...passed].slice(0, mostPassed) }
}

function afterFilling(job: Job, { now, limits }: Moment): Job {
  if (emptySeats(job).length === 0) {
    return { ...job, reason: job.reason === 'not-enough-nodes' ? undefined : job.reason }
  }
  const fillAt = now + limits.refillMs
  if (job.reason === 'awaiting-grant' && awaitsGrant(job)) return { ...job, fillAt }
  const waiting: Job = { ...job, fillAt, reason: 'not-enough-nodes' }
  return job.reason === 'not-enough-nodes' ? waiting : recorded(waiting, now, 'not-enough-nodes')
}

const closedPrompt: ReadonlySet<Assignment['reason']> = new Set([
  'prompt-unreadable',
  'envelope-invalid',
])
const mostShutOut = 2
const mostAlike = 3

/**
 * True when two nodes could not open the prompt before the quorum had committed, or three nodes, and more than have committed, named the
 * same cause in the job itself: other nodes would pay their providers and fail, too.
 */
function failsAnywhere({ assignments, firstCommitted }: Job): boolean {
  const shutOut = assignments.flatMap(({ node, reason }) =>
    closedPrompt.has(reason) ? [node] : [],
  )
  // A quorum that has opened the prompt contradicts them.
  if (firstCommitted === undefined && new Set(shutOut).size >= mostShutOut) return true
  const committed = assignments.filter(({ commitment }) => commitment !== undefined).length
  const named = assignments.filter(({ reason }) => reason && causes[reason].sameAnywhere)
  return named.some(({ reason }) => {
    const alike = named.filter((other) => other.reason === reason)
    return new Set(alike.map(({ node }) => node)).size >= Math.max(mostAlike, committed + 1)
  })
}

/** A dropped connection passes in a second or two, a provider that restarts or is overloaded often in some ten seconds. */
const returnPausesMs = [2_000, 15_000] as const

/** When a node that gave its seat back may have one again. */
const returnsAt = ({ endedAt = 0, returnAt = 0, attempt }: Assignment): number =>
  Math.max(returnAt, endedAt + returnPausesMs[attempt === 1 ? 0 : 1])

const returningMembers = (job: Job, members: readonly MemberState[], now: number): number[] =>
  returnable(job)
    .filter((last) => members[last.position] === 'fit' && now >= returnsAt(last))
    .map(({ position }) => position)

/** Seats a member of the list. It gets its offer once the chain shows that it can read the prompt key. */
export function seatMember(job: Job, seat: number, position: number, now: number): Change {
  const node = job.list.members[position]
  if (node === undefined) throw new RangeError(`The list has no position ${position}`)
  const { nextFence: fence } = job
  const attempt = attemptsAt(job, seat) + 1
  const place = { seat, batch: nextBatch(job), attempt, position }
  const assignment = { ...place, node, fence, status: 'awaiting-grant' } as const
  const assignments = [...job.assignments, assignment]
  const seated = recorded({ ...job, assignments, nextFence: fence + 1 }, now, 'chosen', {
    assignment,
  })
  return changeTo(seated, [{ type: 'ensure-access', node, fence }])
}

/*
 * Problem: a job must go on although nodes go silent, have no room, or leave, and must end when nobody is left.
 *
 * Idea: every job has a time at which it is looked at again (tickAt). A tick does three things in this order: it
 * ends what is overdue, it takes seats from nodes that stay full if others are free, and it fills empty seats from
 * the job's list. How each member of the list is at the moment is read before, by the caller, because this function
 * is pure. needsMembers tells the caller when to read.
 *
 * Invariants:
 * - An empty seat goes to the earliest member of the list that never had a seat and is fit. Each earlier one that
 *   never had a seat is passed over, and the job keeps its name and the reason.
 * - Only when no fit member is left that never had a seat, a node may return to the seat that it gave back for a
 *   cause that passes, after a pause that grows with each attempt: a member that is busy for good holds up nobody.
 * - A node is scored for an offer, a lease or a reveal that it let pass. Waiting for a slot or for a grant costs it
 *   nothing.
 * - A seated node gets no offer yet: that takes the effect ensure-access, which sees on chain that the node may read
 *   the prompt key.
 *
 * Failure cases, with the end of the job: the deadline has passed (expired); a seat has used up its attempts, or
 * as many nodes as a quorum gave the round back for a cause that lies in the job and nobody could do it (expired,
 * attempts-exhausted); a rejected round cannot be done by a whole new quorum (rejected, not-enough-nodes); nobody
 * is left to break a tie (disputed). In all other cases an empty seat waits, mostly with the reason
 * not-enough-nodes, and is tried again after refillMs.
 */

import { causes } from '../../lib/causes.ts'
import { vacated } from './assignments.ts'
import type { MemberState } from './commands.ts'
import type { Effect } from './effects.ts'
import {
  type Assignment,
  assignmentAt,
  attemptsAt,
  awaitsGrant,
  currentAssignments,
  emptySeats,
  isSettled,
  type Job,
  type JobLimits,
  type Passed,
  recorded,
  type Transition,
  withAssignment,
} from './job.ts'
import { settle } from './settle.ts'

/** Looks at a job whose time has come: ends what is overdue and fills empty seats from the list, whose members are in these states. */
export function tick(
  job: Job,
  members: readonly MemberState[] | undefined,
  now: number,
  limits: JobLimits,
): Transition {
  if (now >= job.deadline) return settle(job, 'expired', job.reason ?? 'deadline-passed', now)
  const lapsed = lapse(job, now)
  if (!members) return lapsed
  const moved = vacateFullNodes(lapsed.job, members, now)
  if (emptySeats(moved).length === 0) return { job: moved, effects: lapsed.effects }
  const filled = fillSeats(moved, members, now, limits)
  if ('refused' in filled) return filled
  return { job: filled.job, effects: [...lapsed.effects, ...filled.effects] }
}

/** True when the next tick needs the members' states: a seat is empty or may be, and it is time to fill it. */
export const needsMembers = (job: Job, now: number): boolean =>
  !isSettled(job.phase) &&
  now < job.deadline &&
  ((job.fillAt !== undefined && job.fillAt <= now) || overdueAssignments(job, now).length > 0)

/** The assignments whose deadline has passed. */
const overdueAssignments = (job: Job, now: number): readonly Assignment[] =>
  currentAssignments(job).filter(
    ({ status, deadline }) => status !== 'done' && deadline !== undefined && deadline <= now,
  )

/** True for an assignment that waits until its node has a free slot. */
const waitsForSlot = ({ status }: Assignment): boolean => status === 'awaiting-grant'

const lookForSlotMs = 5_000

/** Takes the assignments of nodes that stay full from them, as far as others are free to take them. */
function vacateFullNodes(job: Job, members: readonly MemberState[], now: number): Job {
  const others = unseated(job).filter((position) => members[position] === 'fit').length
  let left = others - emptySeats(job).length
  let next = job
  for (const assignment of overdueAssignments(job, now).filter(waitsForSlot)) {
    next =
      left-- > 0
        ? vacated(next, assignment, 'aborted', 'node-busy', now)
        : withAssignment(next, assignment.fence, { deadline: now + lookForSlotMs })
  }
  return next
}

/** The positions on the list that never had a seat, in order. */
function unseated({ list, assignments }: Job): readonly number[] {
  const had = new Set(assignments.map(({ position }) => position))
  return list.members.flatMap((_, position) => (had.has(position) ? [] : [position]))
}

/** Ends the assignments whose deadline has passed. */
function lapse(job: Job, now: number): { job: Job; effects: readonly Effect[] } {
  const overdue = overdueAssignments(job, now).filter((assignment) => !waitsForSlot(assignment))
  const effects: Effect[] = []
  let next = job
  for (const assignment of overdue) {
    const code = lapseCode(assignment)
    next = vacated(next, assignment, 'lapsed', code, now)
    effects.push({ type: 'score-node', node: assignment.node, fence: assignment.fence, code })
  }
  return { job: next, effects }
}

function lapseCode({ status }: Assignment): 'offer-lapsed' | 'lease-lapsed' | 'never-revealed' {
  if (status === 'offered') return 'offer-lapsed'
  return status === 'committed' ? 'never-revealed' : 'lease-lapsed'
}

function fillSeats(
  job: Job,
  members: readonly MemberState[],
  now: number,
  limits: JobLimits,
): Transition {
  const seats = emptySeats(job)
  const isUsedUp = seats.some((seat) => attemptsAt(job, seat) >= limits.maxAttempts)
  if (isUsedUp || failsAnywhere(job)) {
    return settle(job, 'expired', 'attempts-exhausted', now)
  }
  const left = unseated(job).filter(
    (position) => members[position] === 'fit' || members[position] === 'busy',
  )
  if (startsOver(job) && left.length < seats.length) {
    return settle(job, 'rejected', 'not-enough-nodes', now)
  }
  if (left.length === 0 && seats.every((seat) => isTieBreak(job, seat))) {
    return settle(job, 'disputed', 'quorum-disagreed', now)
  }
  const free = left.filter((position) => members[position] === 'fit')
  let next = job
  const effects: Effect[] = []
  for (const [index, seat] of seats.entries()) {
    const position = free[index] ?? returningMember(job, seat, members, now)
    if (position === undefined) continue
    const seated = seatMember(passing(next, position, members, now), seat, position, now)
    next = seated.job
    effects.push(...seated.effects)
  }
  return { job: afterFilling(next, now, limits), effects }
}

const mostPassed = 64

/** The job with every earlier member that never had a seat noted as passed over, once for each reason. */
function passing(job: Job, position: number, members: readonly MemberState[], now: number): Job {
  const passed = unseated(job).flatMap((earlier): Passed[] => {
    const reason = members[earlier]
    if (earlier >= position || reason === undefined || reason === 'fit') return []
    const isNoted = job.passed.some((old) => old.position === earlier && old.reason === reason)
    return isNoted ? [] : [{ position: earlier, reason, at: now }]
  })
  return passed.length === 0
    ? job
    : { ...job, passed: [...job.passed, ...passed].slice(0, mostPassed) }
}

function afterFilling(job: Job, now: number, limits: JobLimits): Job {
  if (emptySeats(job).length === 0) {
    return { ...job, reason: job.reason === 'not-enough-nodes' ? undefined : job.reason }
  }
  if (job.reason === 'awaiting-grant' && awaitsGrant(job)) {
    return { ...job, fillAt: now + limits.refillMs }
  }
  const waiting: Job = { ...job, fillAt: now + limits.refillMs, reason: 'not-enough-nodes' }
  return job.reason === 'not-enough-nodes' ? waiting : recorded(waiting, now, 'not-enough-nodes')
}

/** True when as many nodes as a quorum has gave a round back for a cause that lies in the job, and none could do it: others would be paid in vain. */
function failsAnywhere(job: Job): boolean {
  const round = job.assignments.filter((assignment) => assignment.round === job.round)
  if (round.some(({ status }) => status === 'committed' || status === 'done')) return false
  const nodes = round.flatMap(({ node, reason }) =>
    reason !== undefined && causes[reason].sameAnywhere ? [node] : [],
  )
  return new Set(nodes).size > job.verifierCount
}

/** True when a rejection calls for a whole new quorum, of which nobody is seated yet. */
const startsOver = (job: Job): boolean =>
  job.round > 0 && job.assignments.every(({ round }) => round < job.round)

/** True for a seat that was added because the verdicts did not decide. */
const isTieBreak = (job: Job, seat: number): boolean => seat > job.verifierCount

const returnDelayMs = 2_000

function returningMember(
  job: Job,
  seat: number,
  members: readonly MemberState[],
  now: number,
): number | undefined {
  const last = assignmentAt(job, seat)
  // The same node may try again only what may pass.
  if (last?.reason === undefined || !causes[last.reason].passes) return undefined
  if (now < (last.endedAt ?? now) + returnDelayMs * last.attempt) return undefined
  return members[last.position] === 'fit' ? last.position : undefined
}

/** Seats a member of the list; it is offered the work once the chain shows that it can read the prompt key. */
export function seatMember(
  job: Job,
  seat: number,
  position: number,
  now: number,
): { readonly job: Job; readonly effects: readonly Effect[] } {
  const node = job.list.members[position]
  if (node === undefined) throw new RangeError(`The list has no position ${position}`)
  const assignment: Assignment = {
    seat,
    round: job.round,
    attempt: attemptsAt(job, seat) + 1,
    role: seat === 0 ? 'leader' : 'verifier',
    position,
    node,
    fence: job.nextFence,
    status: 'awaiting-grant',
  }
  const seated = {
    ...job,
    assignments: [...job.assignments, assignment],
    nextFence: job.nextFence + 1,
  }
  return {
    job: recorded(seated, now, 'chosen', { assignment }),
    effects: [{ type: 'ensure-access', node, fence: assignment.fence }],
  }
}

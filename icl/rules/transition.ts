/*
 * Problem: clients, nodes, timers and several replicas act on one job at the same time, and any process may die
 * between two steps.
 *
 * Idea: a job is a value, and this function decides its next state from a command and a time. It reads no clock, store or
 * network. The caller saves the result only if the job was not saved since it was read, and otherwise starts again with
 * the newer job (icl/operations/change-job.ts). Effects go into the job's outbox, in the same save, and are delivered later
 * (icl/background/effects-due.ts).
 *
 * Invariants:
 * - A settled phase never changes. A settled job answers a repeated statement as before, and records the results of its
 *   effects (outbox.ts). It may still get a provable fault, or the score of a commitment that came after its lease and
 *   before the job's deadline.
 * - A command of a node counts only under the fence of that node's assignment. Each assignment has a higher fence
 *   than those before it in the job.
 * - A session key signs for one node of a job.
 * - A command that changes nothing returns the same job object, so that nothing is saved.
 * - A job that has not settled has a tickAt: the earliest of its deadline, the deadlines of its assignments and of
 *   the turn to deliver and of the weighing, and the time to fill empty seats.
 *
 * Failure cases: a repeated message has one effect and gets the same answer, also once its assignment is over. After the
 * job's deadline, commands of nodes are refused unless they are repeats, whether or not the tick has come. A refusal may
 * still change the job: a second, different signed answer is kept as a fault, and a commitment after a lapsed lease scores
 * its node. The caller saves that change, then reports the refusal.
 */

import { currentTurn } from './agreed.ts'
import { commit, reveal } from './answers.ts'
import { abort, applyFinding, claim } from './assignments.ts'
import type { Command, NewsOfEffects, NodeCommand } from './commands.ts'
import { abortTurn, deliver, postVerdict, verdictOn } from './delivery.ts'
import { type Effect, scoring } from './effects.ts'
import {
  type Assignment,
  afterwards,
  assignmentOf,
  type Change,
  changeTo,
  isHeld,
  isSettled,
  type Job,
  type JobLimits,
  type Moment,
  refuse,
  type Transition,
} from './job.ts'
import { missTime } from './outages.ts'
import { applyEffectCommand } from './outbox.ts'
import { assignmentAt, mayStillReveal } from './seats.ts'
import { hasKeyOfAnother } from './session-keys.ts'
import { cancel } from './settle.ts'
import { tick } from './tick.ts'
import { openNumbers, show, weigh } from './weighing.ts'

/** Decides the next state of a job. Pure: the same job, command and time (milliseconds) give the same transition. */
export function transition(job: Job, command: Command, now: number, limits: JobLimits): Transition {
  const moment = { now, limits }
  const next =
    command.type === 'effects-seen'
      ? oneByOne(job, command.news, moment)
      : apply(job, command, moment)
  if ('refused' in next) return next.noted ? { ...next, noted: ready(next.noted, now) } : next
  return next.job === job && next.effects.length === 0 ? next : ready(next, now)
}

/** Applies several commands in order. A refused command changes nothing. */
const oneByOne = (job: Job, commands: NewsOfEffects, moment: Moment): Change =>
  commands.reduce(
    (before, command) =>
      afterwards(before, (current) => {
        const next = apply(current, command, moment)
        return 'refused' in next ? changeTo(current) : next
      }),
    changeTo(job),
  )

/** The change with its scores noted in the assignments, its effects in the outbox, and the time of the next tick. */
export const ready = ({ job, effects }: Change, now: number): Change =>
  changeTo(timed(scored(job, effects), effects, now), effects)

function scored(job: Job, effects: readonly Effect[]): Job {
  const scores = effects.filter((effect) => effect.type === 'score-node')
  if (scores.length === 0) return job
  const assignments = job.assignments.map((assignment) => {
    const codes = scores.flatMap(({ fence, code }) => (fence === assignment.fence ? [code] : []))
    return codes.length === 0
      ? assignment
      : { ...assignment, scores: [...(assignment.scores ?? []), ...codes] }
  })
  return { ...job, assignments }
}

type SingleCommand = Exclude<Command, { type: 'effects-seen' }>

function apply(job: Job, command: SingleCommand, moment: Moment): Transition {
  const { now } = moment
  switch (command.type) {
    case 'tick':
      return isSettled(job.phase) ? changeTo(job) : tick(job, command.members, moment)
    case 'miss-time':
      return missTime(job, command.outages)
    case 'cancel':
      return cancel(job, now)
    case 'effect-tried':
    case 'commit-seen':
    case 'slash-seen':
    case 'webhook-tried':
      return applyEffectCommand(job, command, now)
    case 'see-access':
    case 'miss-access':
    case 'refuse-access':
    case 'find-busy':
    case 'find-gone':
    case 'find-ended':
    case 'find-other-list':
      return applyFinding(job, command, moment)
    case 'claim':
    case 'commit':
    case 'reveal':
    case 'deliver':
    case 'post-verdict':
    case 'show':
    case 'weigh':
    case 'open-numbers':
    case 'abort':
    case 'abort-turn':
      return applyNodeCommand(job, command, moment)
  }
}

function applyNodeCommand(job: Job, command: NodeCommand, moment: Moment): Transition {
  const { now } = moment
  const assignment = assignmentOf(job, command.node)
  if (!assignment)
    return refuse('not-assigned', `Node ${command.node} has no assignment in this job`)
  if (assignment.fence !== command.fence) {
    return refuse('stale-fence', `Fence ${command.fence} is not the current ${assignment.fence}`)
  }
  const end = endOf(job, now)
  if (end !== undefined && !isRepeat(job, assignment, command)) {
    const noted = now < job.deadline ? scoredLate(job, assignment, command) : undefined
    return refuse('job-settled', `The job is ${end}`, noted)
  }
  const isGone = assignment.status === 'lapsed' || assignment.status === 'aborted'
  if (isGone && !(command.type === 'reveal' && mayStillReveal(job, assignment))) {
    if (command.type === 'abort' || isSameCommitment(assignment, command)) return changeTo(job)
    const why = `The assignment was given up: ${assignment.reason}`
    return refuse('stale-fence', why, scoredLate(job, assignment, command))
  }
  if (hasKeyOfAnother(job, command))
    return refuse('statement-mismatch', 'Another node has signed with this session key')
  switch (command.type) {
    case 'claim':
      return claim(job, assignment, command.msPerToken, moment)
    case 'commit':
      return commit(job, assignment, command.commitment, moment)
    case 'reveal':
      return reveal(job, assignment, command, moment)
    case 'deliver':
      return deliver(job, assignment, command.delivery, moment)
    case 'post-verdict':
      return postVerdict(job, assignment, command.verdict, moment)
    case 'show':
      return show(job, assignment, command.cid, moment)
    case 'weigh':
      return weigh(job, assignment, command.commitment, moment)
    case 'open-numbers':
      return openNumbers(job, assignment, command.numbers, moment)
    case 'abort':
      return abort(job, assignment, command, now)
    case 'abort-turn':
      return abortTurn(job, assignment, command.abort, moment)
  }
}

/** How the job has ended; undefined while commands of nodes may count. */
function endOf({ phase, deadline }: Job, now: number) {
  if (isSettled(phase)) return phase
  // The outcome after the deadline must not depend on whether a tick has already come.
  return now >= deadline ? 'past its deadline' : undefined
}

/** True for a repeat of what the node posted before the job settled. It gets its old answer, and a different statement is still a fault. */
function isRepeat(job: Job, assignment: Assignment, command: NodeCommand): boolean {
  const { answer, commitment, fence } = assignment
  const { agreement, weighing } = job
  const turns = agreement?.turns ?? []
  switch (command.type) {
    case 'commit':
      return commitment !== undefined
    case 'reveal':
      return answer !== undefined
    case 'deliver':
      return turns.some((turn) => turn.fence === fence && turn.delivery !== undefined)
    case 'post-verdict':
      return verdictOn(job, assignment, command.verdict) !== undefined
    case 'show':
      return weighing?.shown.some((own) => own.fence === fence) === true
    case 'weigh':
      return weighing?.weighed.some((own) => own.fence === fence) === true
    case 'open-numbers':
      return weighing?.opened.some(({ body }) => body.fence === fence) === true
    default:
      return false
  }
}

/** True for a repeated commitment. A node that has lost its assignment since may ask for the acknowledgement again. */
const isSameCommitment = ({ commitment }: Assignment, command: NodeCommand): boolean =>
  command.type === 'commit' && commitment !== undefined && command.commitment === commitment

/** Scores a commitment after the lease, once. It is useless, but it shows that the node was at work. */
function scoredLate(job: Job, assignment: Assignment, { type }: NodeCommand): Change | undefined {
  const { reason, scores } = assignment
  const isLate = reason === 'lease-lapsed' && type === 'commit'
  if (!isLate || scores?.includes('answered-late')) return undefined
  return changeTo(job, [scoring(assignment, 'answered-late')])
}

/** Puts the effects into the outbox and sets the time of the next tick. */
function timed(job: Job, effects: readonly Effect[], now: number): Job {
  const settled = isSettled(job.phase)
  let isFilling = false
  const turn = currentTurn(job)
  const { weighing } = job
  let tickAt = Math.min(
    job.deadline,
    turn && !turn.settled ? turn.deadline : job.deadline,
    weighing && weighing.step !== 'over' ? weighing.deadline : job.deadline,
  )
  for (let seat = 0; seat < job.seats && !settled; seat++) {
    const current = assignmentAt(job, seat)
    isFilling ||= !current || !isHeld(current.status)
    tickAt = Math.min(tickAt, current?.deadline ?? tickAt)
  }
  const fillAt = isFilling ? (job.fillAt ?? now) : undefined
  const pending = effects.map((effect, index) => ({
    id: job.nextEffect + index,
    effect,
    attempts: 0,
    dueAt: now + (effect.type === 'notify' ? effect.afterMs : 0),
  }))
  return {
    ...job,
    outbox: pending.length === 0 ? job.outbox : [...job.outbox, ...pending],
    nextEffect: job.nextEffect + effects.length,
    fillAt,
    tickAt: settled ? undefined : Math.min(tickAt, fillAt ?? tickAt),
  }
}

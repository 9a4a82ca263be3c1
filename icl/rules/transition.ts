import type { ProblemCode } from '../../lib/problem-codes.ts'
import { postResult, postVerdict } from './answers.ts'
import { abort, claim, commit, missAccess, refuseAccess, seeAccess } from './assignments.ts'
import type { Command, NodeCommand } from './commands.ts'
import type { Effect } from './effects.ts'
import {
  currentSlots,
  emptySeats,
  isSettled,
  type Job,
  type JobLimits,
  type Slot,
  slotOf,
  type Transition,
} from './job.ts'
import { settle } from './settle.ts'
import { wake } from './wake.ts'

/** The whole life of a job. Pure: the same job, command and time (milliseconds) give the same transition. */
export function transition(job: Job, command: Command, now: number, limits: JobLimits): Transition {
  const next = apply(job, command, now, limits)
  // A command that changes nothing gives the very same job, so that nothing is saved for it.
  if ('refused' in next || (next.job === job && next.effects.length === 0)) return next
  return { ...next, job: timed(next.job, next.effects, now) }
}

function apply(job: Job, command: Command, now: number, limits: JobLimits): Transition {
  switch (command.type) {
    case 'wake':
      return isSettled(job.phase) ? { job, effects: [] } : wake(job, command.fill, now, limits)
    case 'cancel':
      if (job.phase === 'cancelled') return { job, effects: [] }
      if (isSettled(job.phase)) return refuse('job-settled', `The job is already ${job.phase}`)
      return settle(job, 'cancelled', 'cancelled-by-client', now)
    case 'see-access':
    case 'miss-access':
    case 'refuse-access': {
      const slot = slotOf(job, command.node)
      // Seen too late: the slot has gone to another node, and nothing is left to do.
      if (isSettled(job.phase) || slot?.fence !== command.fence) return { job, effects: [] }
      if (command.type === 'see-access') return seeAccess(job, slot, now, limits)
      return command.type === 'miss-access'
        ? missAccess(job, slot, now)
        : refuseAccess(job, slot, now)
    }
    case 'claim':
    case 'commit':
    case 'post-result':
    case 'post-verdict':
    case 'abort':
      return applyNodeCommand(job, command, now, limits)
  }
}

function applyNodeCommand(
  job: Job,
  command: NodeCommand,
  now: number,
  limits: JobLimits,
): Transition {
  const slot = slotOf(job, command.node)
  if (!slot) return refuse('not-assigned', `Node ${command.node} has no part in this job`)
  if (slot.fence !== command.fence) {
    return refuse('stale-fence', `Fence ${command.fence} is not the current ${slot.fence}`)
  }
  if (isSettled(job.phase) && !isRepeat(slot, command)) {
    return refuse('job-settled', `The job is already ${job.phase}`)
  }
  if (slot.status === 'lapsed' || slot.status === 'aborted') {
    if (command.type === 'abort') return { job, effects: [] }
    return refuse('stale-fence', `The assignment was given up: ${slot.reason}`)
  }
  switch (command.type) {
    case 'claim':
      return claim(job, slot, now, limits)
    case 'commit':
      return commit(job, slot, command.commitment, now, limits)
    case 'post-result':
      return postResult(job, slot, command.result, now, limits)
    case 'post-verdict':
      return postVerdict(job, slot, command.verdict, command.commitment, now, limits)
    case 'abort':
      return abort(job, slot, command.reason, now)
  }
}

/** An answer that is sent again after the job settled still gets its old answer. */
const isRepeat = (slot: Slot, command: NodeCommand): boolean =>
  slot.status === 'done' && (command.type === 'post-result' || command.type === 'post-verdict')

const refuse = (refused: ProblemCode, detail: string): Transition => ({ refused, detail })

/** Puts effects into the outbox and sets when to look at the job again. */
function timed(job: Job, effects: readonly Effect[], now: number): Job {
  const settled = isSettled(job.phase)
  const fillAt = settled || emptySeats(job).length === 0 ? undefined : (job.fillAt ?? now)
  const pending = effects.map((effect, index) => ({
    id: job.nextEffect + index,
    effect,
    attempts: 0,
    dueAt: now,
  }))
  const deadlines = currentSlots(job).flatMap((slot) =>
    slot.deadline === undefined || slot.status === 'done' ? [] : [slot.deadline],
  )
  return {
    ...job,
    outbox: [...job.outbox, ...pending],
    nextEffect: job.nextEffect + effects.length,
    fillAt,
    wakeAt: settled ? undefined : Math.min(job.deadline, ...deadlines, fillAt ?? job.deadline),
  }
}

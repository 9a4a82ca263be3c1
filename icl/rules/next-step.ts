import type { NextStep } from '../../lib/schemas/assignments.ts'
import { answersOf, currentTurn, isMatch } from './agreed.ts'
import { type Assignment, isRevealing, isSettled, type Job } from './job.ts'
import { mayStillReveal } from './seats.ts'
import { ownWeighing } from './weighing.ts'

/** What a node has to do next for its assignment, and until when (milliseconds). */
export type Next = { readonly step: NextStep; readonly deadline?: number | undefined }

export function nextStep(job: Job, assignment: Assignment): Next {
  if (isSettled(job.phase)) return { step: 'over' }
  switch (assignment.status) {
    case 'awaiting-grant':
    case 'offered':
    case 'claimed':
      return { step: 'work', deadline: assignment.deadline }
    case 'committed':
      return isRevealing(assignment)
        ? { step: 'reveal', deadline: assignment.deadline }
        : { step: 'wait' }
    case 'aborted':
    case 'lapsed':
      return mayStillReveal(job, assignment) ? { step: 'reveal' } : { step: 'over' }
    case 'revealed':
      return afterReveal(job, assignment)
  }
}

/** A node shows its answer first, which takes a moment. It weighs others only when it has nothing to deliver or to check. */
function afterReveal(job: Job, assignment: Assignment): Next {
  const weighing = ownWeighing(job, assignment.fence)
  if (weighing?.step === 'show') return weighing
  return inTurn(job, assignment) ?? weighing ?? { step: 'wait' }
}

/** The part of a node in the current turn; undefined where it has none left. */
function inTurn(job: Job, { fence, node }: Assignment): Next | undefined {
  const turn = currentTurn(job)
  if (!turn || !job.agreement || turn.settled) return undefined
  const { deadline, delivery } = turn
  if (turn.fence === fence) return delivery ? undefined : { step: 'deliver', deadline }
  const isMember = job.agreement.group.includes(fence)
  const hasSpoken =
    turn.absent.includes(fence) || turn.verdicts.some(({ body }) => body.address === node)
  if (!delivery || hasSpoken) return undefined
  if (isMember) return { step: 'check', deadline }
  // An answer outside the group that matches the delivered one is no dissent, so its node has nothing to say.
  return differs(job, fence, turn.fence) ? { step: 'differ', deadline } : undefined
}

function differs(job: Job, one: number, other: number): boolean {
  const answers = answersOf(job)
  const own = answers.find(({ fence }) => fence === one)
  const delivered = answers.find(({ fence }) => fence === other)
  return own !== undefined && delivered !== undefined && !isMatch(own, delivered)
}

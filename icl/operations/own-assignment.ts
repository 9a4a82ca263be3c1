import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type {
  AnswerToWeigh,
  AssignmentState,
  DeliveryToCheck,
  NextStep,
  OwnAssignment,
} from '../../lib/schemas/assignments.ts'
import { toSeconds } from '../../lib/time.ts'
import { jobKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { answersOf, currentTurn } from '../rules/agreed.ts'
import { checkersOf } from '../rules/delivery.ts'
import { type Job, roleOf } from '../rules/job.ts'
import { nextStep } from '../rules/next-step.ts'
import { signedOf } from '../rules/posted.ts'
import { commitmentsOf } from '../rules/seats.ts'
import { toWeigh } from '../rules/weighed.ts'
import { loadJob } from './change-job.ts'
import { hold, type Question, type Waiting } from './hold.ts'
import { ownAssignment } from './own-statement.ts'

/** Returns a node's own assignment and its next step. Waits up to `waitMs` milliseconds while others have to act first. */
export async function viewOwnAssignment(
  deps: Dependencies,
  node: Address,
  jobId: JobId,
  waitMs: number,
  signal?: AbortSignal,
): Promise<OwnAssignment> {
  const answer = await hold(deps, nextStepOf(node, jobId), waitMs, signal)
  if (answer) return answer
  throw new ProblemError('request-timeout', 'The caller has gone away')
}

type StepQuestion = Question<OwnAssignment, undefined> & {
  readonly node: Address
  readonly jobId: JobId
}

const nextStepOf = (node: Address, jobId: JobId): StepQuestion => ({
  ...{ key: jobKey(jobId), node, jobId, look: lookForStep, gone: undefined },
})

async function lookForStep(
  this: StepQuestion,
  { deps, mayWait }: Waiting,
): Promise<OwnAssignment | undefined> {
  const job = await loadJob(deps, this.jobId)
  const assignment = ownAssignment(job, this.node)
  const { step, deadline } = nextStep(job, assignment)
  if (step === 'wait' && mayWait) return undefined
  return {
    jobId: job.id,
    status: assignment.status,
    phase: job.phase,
    role: roleOf(job, assignment),
    fence: assignment.fence,
    step,
    ...(deadline !== undefined && { deadline: toSeconds(deadline) }),
    server_time: toSeconds(deps.clock.now()),
    ...(step === 'reveal' && { commitments: commitmentsOf(job, assignment.batch) }),
    ...inTurn(job, step),
    ...(step === 'weigh' && { to_weigh: answersToWeigh(job, assignment.fence) }),
  }
}

/**
 * Adds the node's next step to the result of a step, once there is one or after `waitMs`, so that the node need not ask for it. When the
 * wait fails, returns the result without it, and the node asks.
 */
export const withNext = <S extends AssignmentState>(
  deps: Dependencies,
  node: Address,
  state: S,
  waitMs: number,
  signal?: AbortSignal,
): Promise<S> =>
  hold(deps, nextStepOf(node, state.jobId), waitMs, signal).then(
    (next) => ({ ...state, next }),
    () => state,
  )

const answersToWeigh = (job: Job, fence: number): AnswerToWeigh[] =>
  toWeigh(job, fence).map(({ answered, cid }) => ({ answer: signedOf(answered.answer), cid }))

function inTurn(job: Job, step: NextStep): Pick<OwnAssignment, 'turn' | 'checkers' | 'to_check'> {
  if (step !== 'deliver' && step !== 'check' && step !== 'differ') return {}
  const turn = (job.agreement?.turns.length ?? 0) - 1
  return step === 'deliver'
    ? { turn, checkers: checkersIn(job) }
    : { turn, to_check: deliveryIn(job) }
}

/** The positions of the members of the agreement that check the current turn's delivery. */
function checkersIn(job: Job): number[] {
  const turn = currentTurn(job)
  if (!turn || !job.agreement) return []
  const checkers = new Set(checkersOf(job.agreement, turn))
  return answersOf(job).flatMap(({ fence, position }) => (checkers.has(fence) ? [position] : []))
}

function deliveryIn(job: Job): DeliveryToCheck | undefined {
  const turn = currentTurn(job)
  const answer = answersOf(job).find(({ fence }) => fence === turn?.fence)?.answer
  if (!turn?.delivery || !answer) return undefined
  return { delivery: signedOf(turn.delivery), answer: signedOf(answer) }
}

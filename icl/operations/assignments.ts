import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { checkOf } from '../../lib/prompt-needs.ts'
import type {
  AssignmentOffer,
  ClaimResult,
  DeliveryToCheck,
  NextStep,
  OwnAssignment,
} from '../../lib/schemas/assignments.ts'
import { toSeconds } from '../../lib/time.ts'
import { type Row, togetherMs } from '../async/hold-table.ts'
import { jobKey, nodeKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { answersOf, currentTurn } from '../rules/agreed.ts'
import { checkersOf } from '../rules/delivery.ts'
import { type Assignment, assignmentOf, type Job, roleOf } from '../rules/job.ts'
import { nextStep } from '../rules/next-step.ts'
import { excuse } from '../rules/outages.ts'
import { changeJob, loadJob } from './change-job.ts'
import { maxOutputTokensOf } from './max-output-tokens.ts'
import { pollUntil } from './poll.ts'
import { signedOf } from './signed-of.ts'
import { notePoll } from './take-heartbeat.ts'

/** Work offered to a node; waits up to `waitMs` for some. Nothing is handed out by being sent. */
export async function listAssignments(
  deps: Dependencies,
  node: Address,
  waitMs: number,
  signal?: AbortSignal,
): Promise<{ readonly later: Promise<Offers> }> {
  await notePoll(deps, node)
  // What is awaited here would keep the whole request in memory for as long as the node waits.
  return { later: offersOf(deps, node, waitMs, signal) }
}

type Offers = { readonly assignments: AssignmentOffer[] }

/** A node that waits for offers: all that is kept of it. */
type Waiter = Row & {
  readonly deps: Dependencies
  readonly node: Address
  readonly since: MonotonicMs
  readonly ms: number
  readonly resolve: (offers: Offers) => void
  readonly reject: (error: unknown) => void
  /** True once it has its answer. */
  isOver: boolean
  /** Its caller has gone away. */
  readonly handleEvent: () => void
}

function offersOf(deps: Dependencies, node: Address, ms: number, signal?: AbortSignal) {
  const offers = new Promise<Offers>((resolve, reject) => {
    const waiter: Waiter = {
      ...{ deps, node, ms, resolve, reject, isOver: false, since: deps.clock.monotonic() },
      ...{ key: nodeKey(node), endsAt: 0, next: undefined, wake, handleEvent: leave },
    }
    if (signal?.aborted) return resolve({ assignments: [] })
    signal?.addEventListener('abort', waiter, { once: true })
    lookAgain(waiter)
  })
  // A look may fail before the request waits for what it finds.
  offers.catch(() => {})
  return offers
}

function wake(this: Waiter): void {
  lookAgain(this)
}

function leave(this: Waiter): void {
  end(this)
  this.resolve({ assignments: [] })
}

function end(waiter: Waiter): void {
  waiter.isOver = true
  waiter.deps.notifier.held.drop(waiter)
}

function lookAgain(waiter: Waiter): void {
  if (waiter.isOver) return
  const { deps, since, ms } = waiter
  const left = ms - elapsedSince(deps.clock, since)
  const mayWait = left > togetherMs && !deps.notifier.closed
  // The wait starts before the look, so that news that comes in between is not missed.
  if (mayWait) deps.notifier.held.hold(waiter, left)
  look(waiter, mayWait).catch((error: unknown) => {
    end(waiter)
    waiter.reject(error)
  })
}

/** Answers a node if there are offers, or if it may not wait for any. */
async function look(waiter: Waiter, mayWait: boolean): Promise<void> {
  const { deps, node } = waiter
  // The request's own was passed when the application was left: an offer must last before it goes out.
  const barrier = deps.store.commits.barrier()
  const assignments = await offersNow(deps, node)
  if ((assignments.length === 0 && mayWait) || waiter.isOver) return
  end(waiter)
  await notePoll(deps, node)
  await barrier()
  waiter.resolve({ assignments })
}

async function offersNow(deps: Dependencies, node: Address): Promise<AssignmentOffer[]> {
  const [jobs, outages] = await Promise.all([deps.store.listJobsOfNode(node), deps.outages.known()])
  return jobs.flatMap((found) => {
    const job = excuse(found, outages)
    const assignment = assignmentOf(job, node)
    return assignment?.status === 'offered' ? [viewOffer(job, assignment)] : []
  })
}

const viewOffer = (job: Job, assignment: Assignment): AssignmentOffer => ({
  jobId: job.id,
  role: roleOf(job, assignment),
  model_id: job.modelId,
  prompt_cid: job.promptCid,
  client: job.client,
  deadline: toSeconds(assignment.deadline ?? job.deadline),
  fence: assignment.fence,
})

/** Gives a node its assignment and the key handles (spec 2.3); claiming again gives the same. */
export async function claimAssignment(
  deps: Dependencies,
  node: Address,
  { jobId, fence }: { jobId: JobId; fence: number },
): Promise<ClaimResult> {
  const job = await changeJob(deps, jobId, { type: 'claim', node, fence })
  const assignment = assignmentOf(job, node)
  if (!assignment) throw notAssigned()
  const check = checkOf(job.list.terms.needs)
  return {
    jobId: job.id,
    fence: assignment.fence,
    role: roleOf(job, assignment),
    kpHighHandle: job.kpHighHandle,
    kpLowHandle: job.kpLowHandle,
    claimDeadline: toSeconds(assignment.deadline ?? job.deadline),
    server_time: toSeconds(deps.clock.now()),
    client: job.client,
    model_id: job.modelId,
    prompt_cid: job.promptCid,
    comparator: job.comparator,
    ...(check && { check }),
    parameters: { max_output_tokens: maxOutputTokensOf(job) },
    list: [...job.list.members],
    position: assignment.position,
    activator: job.list.activator,
    until: job.list.until,
  }
}

/** Where a node's assignment and the job stand. */
export function viewAssignmentState(job: Job, node: Address) {
  const assignment = assignmentOf(job, node)
  if (!assignment) throw notAssigned()
  return { jobId: job.id, status: assignment.status, phase: job.phase }
}

/** A node's own assignment and what it does next; waits up to `waitMs` while others have to act first. */
export async function viewOwnAssignment(
  deps: Dependencies,
  node: Address,
  jobId: JobId,
  waitMs: number,
  signal?: AbortSignal,
): Promise<OwnAssignment> {
  return pollUntil(deps, [jobKey(jobId)], waitMs, signal, async () => {
    const job = await loadJob(deps, jobId)
    const assignment = assignmentOf(job, node)
    if (!assignment) throw notAssigned()
    const { step, deadline } = nextStep(job, assignment)
    const seen: OwnAssignment = {
      jobId: job.id,
      status: assignment.status,
      phase: job.phase,
      role: roleOf(job, assignment),
      fence: assignment.fence,
      step,
      ...(deadline !== undefined && { deadline: toSeconds(deadline) }),
      server_time: toSeconds(deps.clock.now()),
      ...inTurn(job, step),
    }
    return { seen, enough: step !== 'wait' }
  })
}

const notAssigned = () => new ProblemError('not-assigned', 'The node has no assignment in this job')

/** What a node has to know of the current turn to do its part in it. */
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

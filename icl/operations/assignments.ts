import type { Address } from '../../lib/codecs.ts'
import { checkOf } from '../../lib/prompt-needs.ts'
import type {
  AssignmentOffer,
  AssignmentState,
  ClaimRequest,
  ClaimResult,
} from '../../lib/schemas/assignments.ts'
import { toSeconds } from '../../lib/time.ts'
import { nodeKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Assignment, assignmentOf, type Job, maxOutputTokensOf, roleOf } from '../rules/job.ts'
import { excuse } from '../rules/outages.ts'
import { changeJob } from './change-job.ts'
import { hold, type Question, type Waiting } from './hold.ts'
import { ownAssignment } from './own-statement.ts'
import { notePoll } from './take-heartbeat.ts'

/** Returns the work offered to a node. Waits up to `seconds` for some. */
export async function listAssignments(
  deps: Dependencies,
  node: Address,
  seconds: number,
  signal?: AbortSignal,
): Promise<{ readonly later: Promise<Offers> }> {
  await notePoll(deps, node)
  // Awaiting the offers here would keep the whole request in memory while the node waits.
  const question: OfferQuestion = { key: nodeKey(node), node, look: lookForOffers, gone: noOffers }
  return { later: hold(deps, question, seconds * 1000, signal) }
}

type Offers = { readonly assignments: AssignmentOffer[] }

const noOffers: Offers = { assignments: [] }

type OfferQuestion = Question<Offers, Offers> & { readonly node: Address }

async function lookForOffers(
  this: OfferQuestion,
  { deps, mayWait }: Waiting,
): Promise<Offers | undefined> {
  const assignments = await offersOf(deps, this.node)
  if (assignments.length === 0 && mayWait) return undefined
  await notePoll(deps, this.node)
  return { assignments }
}

/** Adds what is offered to a node now to the result of a step, so that a node at work need not ask for it. */
export async function withOffers<S extends AssignmentState>(
  deps: Dependencies,
  node: Address,
  state: S,
): Promise<S> {
  const barrier = deps.store.commits.barrier()
  // The step was taken, so it succeeds without them. A poll brings them, too.
  const assignments = await offersOf(deps, node).catch(() => [])
  if (assignments.length === 0) return state
  await barrier()
  return { ...state, assignments }
}

/** Returns what is offered to a node now. */
async function offersOf(deps: Dependencies, node: Address): Promise<AssignmentOffer[]> {
  const [found, outages] = await Promise.all([
    deps.store.listJobsOfNode(node),
    deps.outages.known(),
  ])
  return found.flatMap((one) => {
    const job = excuse(one, outages)
    const assignment = assignmentOf(job, node)
    if (assignment?.status !== 'offered') return []
    const deadline = toSeconds(assignment.deadline ?? job.deadline)
    return [{ ...viewWork(job, assignment), deadline }]
  })
}

/** The facts that a node learns of its work before and with its claim. */
function viewWork(job: Job, assignment: Assignment) {
  const check = checkOf(job.list.terms.needs)
  return {
    jobId: job.id,
    fence: assignment.fence,
    role: roleOf(job, assignment),
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

/** Claims an assignment for a node and returns it with the key handles (spec 2.3). A repeated claim returns the same. */
export async function claimAssignment(
  deps: Dependencies,
  node: Address,
  { jobId, fence, ms_per_token: msPerToken }: ClaimRequest,
): Promise<ClaimResult> {
  const job = await changeJob(deps, jobId, { type: 'claim', node, fence, msPerToken })
  const assignment = ownAssignment(job, node)
  return {
    ...viewWork(job, assignment),
    kpHighHandle: job.kpHighHandle,
    kpLowHandle: job.kpLowHandle,
    block_number: job.list.block.number,
    claimDeadline: toSeconds(assignment.deadline ?? job.deadline),
    server_time: toSeconds(deps.clock.now()),
  }
}

/** Returns the state of a node's assignment and of the job. Throws `not-assigned`. */
export const viewAssignmentState = (job: Job, node: Address): AssignmentState => ({
  jobId: job.id,
  status: ownAssignment(job, node).status,
  phase: job.phase,
})

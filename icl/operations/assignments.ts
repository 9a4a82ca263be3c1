import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { checkOf } from '../../lib/prompt-needs.ts'
import type {
  AssignmentOffer,
  AssignmentState,
  ClaimResult,
} from '../../lib/schemas/assignments.ts'
import { toSeconds } from '../../lib/time.ts'
import { nodeKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Assignment, assignmentOf, type Job, maxOutputTokensOf, roleOf } from '../rules/job.ts'
import { excuse } from '../rules/outages.ts'
import { changeJob } from './change-job.ts'
import { hold, type Kept, keepWaiting, type Question, type Waiting } from './hold.ts'
import { ownAssignment } from './own-statement.ts'
import { notePoll } from './take-heartbeat.ts'

/** A node's poll for work: how many seconds it waits, how many assignments it claims at once, and its name. */
type Poll = { readonly wait: number; readonly claim: number; readonly poll: string }

/** Returns the work offered to a node. Waits up to `wait` seconds for some. Only work that the poll claims becomes the node's. */
export async function listAssignments(
  deps: Dependencies,
  node: Address,
  poll: Poll,
  signal?: AbortSignal,
): Promise<{ readonly later: Promise<Offers> }> {
  await notePoll(deps, node)
  // Awaiting the offers here would keep the whole request in memory while the node waits.
  const question: OfferQuestion = {
    key: nodeKey(node),
    node,
    claim: poll.claim,
    poll: poll.poll,
    look: lookForOffers,
    gone: noOffers,
  }
  return { later: hold(deps, question, poll.wait * 1000, signal) }
}

type Offers = { readonly assignments: AssignmentOffer[]; readonly claims?: ClaimResult[] }

const noOffers: Offers = { assignments: [] }

type OfferQuestion = Question<Offers, Offers> & Omit<Poll, 'wait'> & { readonly node: Address }

/** A waiting poll of the node that claims; undefined when there is none. The poll does not look until it is let go. */
export const keepClaiming = (
  deps: Dependencies,
  node: Address,
): Kept<{ readonly poll: string }> | undefined => keepWaiting(deps, nodeKey(node), isClaiming)

const isClaiming = (question: Question<unknown>): question is OfferQuestion =>
  'claim' in question && question.claim !== 0

async function lookForOffers(this: OfferQuestion, waiting: Waiting): Promise<Offers | undefined> {
  const { node } = this
  const { deps } = waiting
  const [found, outages] = await Promise.all([
    deps.store.listJobsOfNode(node),
    deps.outages.known(),
  ])
  const jobs = found.map((job) => excuse(job, outages))
  const claims = await claimsOf(this, waiting, jobs)
  const assignments = jobs.flatMap((job) => {
    const assignment = assignmentOf(job, node)
    const isClaimed = claims?.some(({ jobId }) => jobId === job.id)
    return assignment?.status === 'offered' && !isClaimed ? [viewOffer(job, assignment)] : []
  })
  if (assignments.length === 0 && !claims?.length && waiting.mayWait) return undefined
  await notePoll(deps, node)
  return { assignments, ...(claims && { claims }) }
}

/** Returns earlier and new claims of the poll; undefined for a poll that claims nothing. Leaves out refused claims. */
async function claimsOf(
  { node, claim, poll }: OfferQuestion,
  waiting: Waiting,
  jobs: readonly Job[],
): Promise<ClaimResult[] | undefined> {
  if (claim === 0) return undefined
  const { deps } = waiting
  const own = jobs.map((job) => ({ job, assignment: assignmentOf(job, node) }))
  const before = own.filter(({ assignment }) => {
    const by = assignment?.poll
    return assignment?.status === 'claimed' && by !== undefined && (poll === '' || poll === by)
  })
  // No claims for a caller that has gone away, and none while the ICL stops.
  const most = waiting.isOver || deps.notifier.closed ? 0 : claim - before.length
  const offered = own.flatMap(({ job: { id }, assignment }) =>
    assignment?.status === 'offered' ? [{ jobId: id, fence: assignment.fence }] : [],
  )
  const tried = await Promise.allSettled(
    offered.slice(0, Math.max(most, 0)).map((one) => claimAssignment(deps, node, one, poll)),
  )
  const claims = [
    // A node never gets more at once than it asks for.
    ...before.slice(0, claim).map(({ job }) => viewClaim(deps, job, node)),
    ...tried.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])),
  ]
  const failed = tried.find((one) => one.status === 'rejected' && isPassing(one.reason))
  if (claims.length === 0 && failed?.status === 'rejected') throw failed.reason
  return claims
}

const isPassing = (error: unknown): boolean =>
  !(error instanceof ProblemError) || error.code === 'unavailable'

const viewOffer = (job: Job, assignment: Assignment): AssignmentOffer => ({
  jobId: job.id,
  role: roleOf(job, assignment),
  model_id: job.modelId,
  prompt_cid: job.promptCid,
  client: job.client,
  deadline: toSeconds(assignment.deadline ?? job.deadline),
  fence: assignment.fence,
})

/** Claims an assignment for a node and returns it with the key handles (spec 2.3). A repeated claim returns the same. */
export async function claimAssignment(
  deps: Dependencies,
  node: Address,
  { jobId, fence }: { readonly jobId: JobId; readonly fence: number },
  poll?: string,
): Promise<ClaimResult> {
  const command = { type: 'claim', node, fence, ...(poll !== undefined && { poll }) } as const
  return viewClaim(deps, await changeJob(deps, jobId, command), node)
}

function viewClaim(deps: Dependencies, job: Job, node: Address): ClaimResult {
  const assignment = ownAssignment(job, node)
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

/** Returns the state of a node's assignment and of the job. Throws `not-assigned`. */
export const viewAssignmentState = (job: Job, node: Address): AssignmentState => ({
  jobId: job.id,
  status: ownAssignment(job, node).status,
  phase: job.phase,
})

import type { Address, JobId } from '../../lib/codecs.ts'
import { checkOf } from '../../lib/prompt-needs.ts'
import type { AssignmentOffer, ClaimResult } from '../../lib/schemas/assignments.ts'
import { toSeconds } from '../../lib/time.ts'
import { nodeKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { type Assignment, assignmentOf, type Job, roleOf } from '../rules/job.ts'
import { excuse } from '../rules/outages.ts'
import { changeJob } from './change-job.ts'
import { hold, type Question, type Waiting } from './hold.ts'
import { maxOutputTokensOf } from './max-output-tokens.ts'
import { notAssigned } from './own-assignment.ts'
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
  return { later: hold(deps, offersTo(node), waitMs, signal).then(offersOrNone) }
}

type Offers = { readonly assignments: AssignmentOffer[] }

const offersOrNone = (offers: Offers | undefined): Offers => offers ?? { assignments: [] }

type OfferQuestion = Question<Offers> & { readonly node: Address }

const offersTo = (node: Address): OfferQuestion => ({
  ...{ key: nodeKey(node), node, look: lookForOffers },
})

async function lookForOffers(this: OfferQuestion, waiting: Waiting): Promise<Offers | undefined> {
  const { deps } = waiting
  const assignments = await offersNow(deps, this.node)
  if (assignments.length === 0 && waiting.mayWait) return undefined
  await notePoll(deps, this.node)
  return { assignments }
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

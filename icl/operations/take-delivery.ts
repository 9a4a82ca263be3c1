import type { z } from 'zod'
import type { OutputKey } from '../../lib/chain/output-key-of.ts'
import { ProblemError } from '../../lib/problem.ts'
import type {
  Acknowledged,
  AssignmentState,
  OpenCheckRequest,
} from '../../lib/schemas/assignments.ts'
import type {
  DeliveryPost,
  DeliveryStatement,
  TurnAbortPost,
  TurnAbortStatement,
  VerdictPost,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { checkCommitmentOf } from '../../lib/teacher.ts'
import type { Dependencies } from '../dependencies.ts'
import { answersOf, currentTurn } from '../rules/agreed.ts'
import type { Command } from '../rules/commands.ts'
import { checkersOf } from '../rules/delivery.ts'
import type { Node } from '../rules/eligibility.ts'
import { assignmentFor, type Job } from '../rules/job.ts'
import { acknowledged } from './acknowledge.ts'
import { viewAssignmentState } from './assignments.ts'
import { changeJob } from './change-job.ts'
import { keepBlobsUntil, keepingOwn } from './keep-blobs.ts'
import { checkSession, loadOwnJob, postedBy } from './own-statement.ts'

/** Takes a delivery after checking its signature, and that the client and all checkers can read the output key. */
export async function takeDelivery(
  deps: Dependencies,
  node: Node,
  post: DeliveryPost,
): Promise<Acknowledged> {
  const { jobId, fence } = post
  const { address } = node
  const job = await loadOwnJob(deps, jobId, address)
  const delivery = await postedBy<DeliveryStatement>(node, post)
  // Read before the job's turn to change. A repeated delivery is answered from the job without asking the chain.
  const { outHighHandle: high, outLowHandle: low } = delivery.body
  const key = hasDelivered(job, fence)
    ? undefined
    : await deps.chain.outputKeyOf(high, low, job.list.block.number)
  const command = async (current: Job): Promise<Command> => {
    if (!hasDelivered(current, fence)) {
      checkSession(current, delivery.session)
      checkOutputKey(current, delivery.body, key)
    }
    return { type: 'deliver', node: address, fence, delivery }
  }
  const keepOutput = (current: Job) =>
    keepingOwn(deps, post.output_cid, keepBlobsUntil(deps, current))
  const changed = await changeJob(deps, jobId, command, keepOutput)
  return await acknowledged(deps, changed, assignmentFor(changed, address, fence), 'result')
}

const hasDelivered = ({ agreement }: Job, fence: number): boolean =>
  agreement?.turns.some((turn) => turn.fence === fence && turn.delivery !== undefined) === true

/**
 * Checks that the readers of the output key are the client and the checkers, and nobody else. Otherwise the client would pay for an answer
 * that it cannot open, or that is open to others. A checker without access would be outvoted.
 */
function checkOutputKey(
  job: Job,
  { address, fence }: DeliveryStatement,
  key: OutputKey | undefined,
): void {
  const turn = currentTurn(job)
  // The rules refuse a delivery out of turn.
  if (!job.agreement || turn?.fence !== fence) return
  const { members: list } = job.list
  if (key?.promptHighHandle !== job.kpHighHandle || list[key.self] !== address) {
    throw unreadable("PromptKeyStore does not show the handles as the deliverer's output key")
  }
  const checkers = checkersOf(job.agreement, turn)
  const members = answersOf(job).filter((answered) => checkers.includes(answered.fence))
  const wanted = [job.client, ...members.map(({ node }) => node)]
  const missing = wanted.find((reader) => !key.readers.includes(reader))
  const stranger = key.readers.find((reader) => !wanted.includes(reader))
  const remedy = 'store another with the checkers that the ICL names'
  if (missing) throw unreadable(`${missing} may not read the output key: ${remedy}`)
  if (stranger) throw unreadable(`The output key is open to ${stranger} as well: ${remedy}`)
}

const unreadable = (why: string) => new ProblemError('output-key-unreadable', why)

/** Takes another node's verdict on the delivery after checking its signature. */
export async function takeVerdict(
  deps: Dependencies,
  node: Node,
  post: VerdictPost,
): Promise<AssignmentState> {
  const { jobId, fence } = post
  const { address } = node
  if ((post.verdict === 'match') !== (post.reason === undefined)) {
    throw new ProblemError(
      'invalid-request',
      'A no-match needs a reason, and only a no-match has one',
    )
  }
  await loadOwnJob(deps, jobId, address)
  const verdict = await postedBy<VerdictStatement>(node, post)
  const changed = await changeJob(deps, jobId, async (current) => {
    if (!hasSpoken(current, post)) checkSession(current, verdict.session)
    return { type: 'post-verdict', node: address, fence, verdict }
  })
  return viewAssignmentState(changed, address)
}

/** Takes the numbers that a node committed to with its verdict. */
export async function takeOpenedCheck(
  deps: Dependencies,
  { address }: Pick<Node, 'address'>,
  { jobId, fence, salt, score }: z.output<typeof OpenCheckRequest>,
): Promise<AssignmentState> {
  await loadOwnJob(deps, jobId, address)
  const changed = await changeJob(deps, jobId, async (current) => {
    const verdict = currentTurn(current)?.verdicts.find(({ body }) => body.fence === fence)
    const delivery = verdict?.body.delivery
    if (!delivery) throw new ProblemError('not-committed', 'The node has given no verdict')
    const commitment = await checkCommitmentOf({ jobId, address, fence, delivery, score, salt })
    return { type: 'open-check', node: address, fence, opened: { salt, score }, commitment }
  })
  return viewAssignmentState(changed, address)
}

const hasSpoken = ({ agreement }: Job, { address, delivery }: VerdictPost): boolean =>
  agreement?.turns.some(({ verdicts }) =>
    verdicts.some(({ body }) => body.address === address && body.delivery === delivery),
  ) === true

/** Takes a node's statement that it gives up its part in a turn, after checking the signature. */
export async function takeTurnAbort(
  deps: Dependencies,
  node: Node,
  post: TurnAbortPost,
): Promise<AssignmentState> {
  const { jobId, fence } = post
  const { address } = node
  await loadOwnJob(deps, jobId, address)
  const abort = await postedBy<TurnAbortStatement>(node, post)
  const changed = await changeJob(deps, jobId, async (current) => {
    checkSession(current, abort.session)
    return { type: 'abort-turn', node: address, fence, abort }
  })
  return viewAssignmentState(changed, address)
}

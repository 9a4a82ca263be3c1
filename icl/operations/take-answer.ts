import type { z } from 'zod'
import type { OutputKey } from '../../lib/chain/output-key-of.ts'
import type { JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { ProblemError } from '../../lib/problem.ts'
import type {
  Acknowledged,
  AssignmentState,
  CommitRequest,
  ShowRequest,
  WeighRequest,
} from '../../lib/schemas/assignments.ts'
import type {
  AnswerPost,
  AnswerStatement,
  DeliveryPost,
  DeliveryStatement,
  NumbersPost,
  NumbersStatement,
  TurnAbortPost,
  TurnAbortStatement,
  VerdictPost,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { commitmentOf, seenHash } from '../../lib/statements.ts'
import type { Dependencies } from '../dependencies.ts'
import { keyOf } from '../records/keys.ts'
import { answersOf, currentTurn } from '../rules/agreed.ts'
import type { Command } from '../rules/commands.ts'
import { checkersOf } from '../rules/delivery.ts'
import type { Node } from '../rules/eligibility.ts'
import {
  type Assignment,
  assignmentFor,
  byFence,
  type Job,
  maxOutputTokensOf,
} from '../rules/job.ts'
import { commitmentsOf } from '../rules/seats.ts'
import { viewAssignmentState } from './assignments.ts'
import { changeJob } from './change-job.ts'
import { acknowledged, checkSession, loadOwnJob, postedBy } from './own-statement.ts'

/** Takes a node's commitment to its answer. */
export async function takeCommitment(
  deps: Dependencies,
  { address: node }: Pick<Node, 'address'>,
  { jobId, fence, commitment }: z.output<typeof CommitRequest>,
): Promise<Acknowledged> {
  const job = await changeJob(deps, jobId, { type: 'commit', node, fence, commitment })
  return await acknowledged(deps, job, assignmentFor(job, node, fence), 'commit')
}

/** Takes a node's answer after checking its signature, its evidence and the terms that it names. */
export async function takeAnswer(
  deps: Dependencies,
  node: Node,
  post: AnswerPost,
): Promise<Acknowledged> {
  const { jobId, fence, evidence, salt } = post
  const { address } = node
  const job = await loadOwnJob(deps, jobId, address)
  const answer = await postedBy<AnswerStatement>(node, post)
  const known = job.assignments.find((own) => own.node === address && own.fence === fence)
  // A second statement after the answer is left to the rules.
  if (known && known.answer === undefined) {
    checkSession(job, answer.session)
    checkTerms(job, known, answer.body)
    checkEvidence(job, answer.body)
  }
  const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
  const changed = await changeJob(deps, jobId, async (current) => {
    await checkSeen(current, fence, answer.body)
    return { type: 'reveal', node: address, fence, answer, commitment }
  })
  return await acknowledged(deps, changed, assignmentFor(changed, address, fence), 'reveal')
}

/** Checks that an answer is about the job's own list, model and parameters. Otherwise the receipt would not hold. */
function checkTerms(job: Job, { position }: Assignment, body: AnswerStatement): void {
  const most = maxOutputTokensOf(job)
  if (body.model_id !== job.modelId || body.max_output_tokens !== most) {
    throw mismatch(`The job is for at most ${most} tokens of ${job.modelId}`)
  }
  if (body.position !== position || body.list !== job.list.commitment) {
    throw mismatch(`The node is at position ${position} of the list ${job.list.commitment}`)
  }
}

/** Checks that a first answer names the commitments of its batch. The rules refuse it before all of these are there. */
async function checkSeen(job: Job, fence: number, { seen }: AnswerStatement): Promise<void> {
  const own = byFence(job, fence)
  const commitments = own ? commitmentsOf(job, own.batch) : []
  if (own?.answer || commitments.length === 0) return
  if (seen === (await seenHash(commitments))) return
  throw mismatch('The answer names other commitments than those of its batch')
}

const mismatch = (why: string) => new ProblemError('statement-mismatch', why)

function checkEvidence(job: Job, { evidence }: AnswerStatement): void {
  const malformation =
    evidence.comparator === job.comparator
      ? comparators[job.comparator].malformation(evidence)
      : `the job's comparator is ${job.comparator}`
  if (malformation !== undefined) throw new ProblemError('evidence-invalid', malformation)
}

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
  const changed = await changeJob(deps, jobId, command)
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
    const why = 'A no-match needs a reason, and only a no-match has one'
    throw new ProblemError('invalid-request', why)
  }
  await loadOwnJob(deps, jobId, address)
  const verdict = await postedBy<VerdictStatement>(node, post)
  const changed = await changeJob(deps, jobId, async (current) => {
    if (!hasSpoken(current, post)) checkSession(current, verdict.session)
    return { type: 'post-verdict', node: address, fence, verdict }
  })
  return viewAssignmentState(changed, address)
}

/** Takes the CID of a node's sealed answer. */
export async function takeShown(
  deps: Dependencies,
  { address: node }: Pick<Node, 'address'>,
  { jobId, fence, cid }: z.output<typeof ShowRequest>,
): Promise<AssignmentState> {
  const job = await loadOwnJob(deps, jobId, node)
  if (cid !== undefined && !hasShown(job, fence)) await checkUploaded(deps, { jobId, fence, cid })
  const changed = await changeJob(deps, jobId, { type: 'show', node, fence, cid })
  return viewAssignmentState(changed, node)
}

const hasShown = ({ weighing }: Job, fence: number): boolean =>
  weighing?.shown.some((one) => one.fence === fence) === true

/** Checks that a node has uploaded the answer that it shows. Otherwise nodes could not weigh it, and would be blamed for that. */
async function checkUploaded(
  { store, clock, blobs }: Dependencies,
  { jobId, fence, cid }: { readonly jobId: JobId; readonly fence: number; readonly cid: string },
): Promise<void> {
  const claimed = await store.findKey(keyOf('upload', jobId, fence, 'shown'), clock.now())
  if (claimed === cid && (await blobs.get(cid))) return
  throw new ProblemError('blob-not-found', 'Upload the sealed answer of this fence first')
}

/** Takes a node's commitment to its numbers. */
export async function takeWeighed(
  deps: Dependencies,
  { address: node }: Pick<Node, 'address'>,
  { jobId, fence, commitment }: z.output<typeof WeighRequest>,
): Promise<AssignmentState> {
  await loadOwnJob(deps, jobId, node)
  const changed = await changeJob(deps, jobId, { type: 'weigh', node, fence, commitment })
  return viewAssignmentState(changed, node)
}

/** Takes the numbers that a node committed to after checking its signature. */
export async function takeNumbers(
  deps: Dependencies,
  node: Node,
  post: NumbersPost,
): Promise<AssignmentState> {
  const { jobId, fence } = post
  const { address } = node
  await loadOwnJob(deps, jobId, address)
  const numbers = await postedBy<NumbersStatement>(node, post)
  const changed = await changeJob(deps, jobId, async (current) => {
    checkSession(current, numbers.session)
    return { type: 'open-numbers', node: address, fence, numbers }
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

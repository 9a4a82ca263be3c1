// What a node does in a job, step by step, in a test of the ICL.
import type { Address, ComparatorId, JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import type {
  AnswerPost,
  BatchCommitment,
  DeliveryPost,
  TurnAbortPost,
  VerdictPost,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { commitmentOf, seenHash, signed, statementHash } from '../../lib/statements.ts'
import { newHandle } from './test-client.ts'
import type { Claimed, Given, Outside, TestNode } from './test-icl.ts'

const evidenceKey = new Uint8Array(32).fill(3)

/** Evidence of an answer under a fixed key. */
export const evidenceOf = (answer: string, comparator: ComparatorId = 'exact') =>
  comparators[comparator].evidenceOf({ text: answer, prompt: '', key: evidenceKey })

/** What a node is offered now. */
export async function offersOf(node: TestNode) {
  const answer = await node.api.getAssignments({
    params: { address: node.address },
    query: { wait: 0 },
  })
  return answer.assignments
}

/** Claims the first offer of a node, or its offer in a job, for the shortest lease. */
export async function claim(node: TestNode, jobId?: JobId) {
  const offers = await offersOf(node)
  const offer = offers.find((each) => jobId === undefined || each.jobId === jobId)
  if (!offer) throw new Error(`${node.name} is offered nothing`)
  const { fence } = offer
  return node.api.claimAssignment({ body: { jobId: offer.jobId, fence, ms_per_token: 1 } })
}

/** The answer of a node to the work that it claimed, signed; it names no commitments that there are unless they are given. */
export async function answerOf(
  { address, key }: Pick<TestNode, 'address' | 'key'>,
  claimed: Claimed,
  answer: string,
  commitments: readonly BatchCommitment[] = [],
): Promise<AnswerPost> {
  const { jobId, fence, list, activator, until } = claimed
  return signed(
    {
      statement: 'svc-answer-v3',
      ...{ jobId, address, fence, position: claimed.position },
      list: listCommitment({ jobId, activator, until, list }),
      model_id: claimed.model_id,
      max_output_tokens: claimed.parameters.max_output_tokens,
      evidence: await evidenceOf(answer, claimed.comparator),
      ended: 'stop',
      salt: toBase64Url(new Uint8Array(32).fill(9)),
      seen: await seenHash(commitments),
    },
    key,
  )
}

/** Commits a node to an answer; gives the statement that opens the commitment later, still without the commitments of its batch. */
export async function commitTo(
  node: TestNode,
  claimed: Claimed,
  answer: string,
): Promise<AnswerPost> {
  const post = await answerOf(node, claimed, answer)
  const { jobId, fence } = claimed
  await node.api.commitAssignment({ body: { jobId, fence, commitment: await commitmentOf(post) } })
  node.given.set(jobId, { claimed, answer: post })
  return post
}

/** What a node has committed to in a job. */
export const givenIn = (node: TestNode, jobId: JobId): Given => {
  const given = node.given.get(jobId)
  if (!given) throw new Error(`${node.name} has committed to nothing in ${jobId}`)
  return given
}

/** The statement that opens what a node has committed to, with the commitments of its batch once the ICL names them. */
export async function openingOf(
  node: TestNode,
  jobId: JobId,
  seen?: OwnAssignment,
): Promise<AnswerPost> {
  const { claimed, answer } = givenIn(node, jobId)
  const { commitments } = seen ?? (await ownAssignment(node, jobId))
  if (!commitments) return answer
  const { signature: _, ...body } = answer
  const opening = await signed({ ...body, seen: await seenHash(commitments) }, node.key)
  node.given.set(jobId, { claimed, answer: opening })
  return opening
}

/** Opens what a node has committed to. */
export const reveal = async (node: TestNode, jobId: JobId) =>
  node.api.revealAnswer({ body: await openingOf(node, jobId) })

/** A node's own assignment: its step, and what it needs for it. */
export const ownAssignment = (node: TestNode, jobId: JobId) =>
  node.api.getAssignment({ params: { jobId }, query: { wait: 0 } })

/** A node's delivery, signed, its output key stored for the client and the checkers that the ICL names, or for other `readers`. */
export async function deliveryOf(
  icl: Pick<Outside, 'chain'>,
  node: TestNode,
  jobId: JobId,
  readers?: readonly Address[],
): Promise<DeliveryPost> {
  const { claimed, answer } = givenIn(node, jobId)
  const { signature: _, ...statement } = answer
  const { checkers = [] } = await ownAssignment(node, jobId)
  const members = checkers.flatMap((position) => claimed.list[position] ?? [])
  const [outHighHandle, outLowHandle] = [newHandle(), newHandle()]
  const allowed = readers ?? [claimed.client, ...members]
  icl.chain.storeOutput(outHighHandle, outLowHandle, node.address, {
    promptHighHandle: claimed.kpHighHandle,
    self: claimed.position,
    readers: allowed,
  })
  return signed(
    {
      statement: 'svc-delivery-v2',
      ...{ jobId, address: node.address, fence: claimed.fence },
      answer: await statementHash(statement),
      output_cid: `bafkrei${'b'.repeat(51)}a`,
      ...{ outHighHandle, outLowHandle },
    },
    node.key,
  )
}

/** Delivers a node's answer. */
export const deliver = async (...of: Parameters<typeof deliveryOf>) =>
  of[1].api.postResult({ body: await deliveryOf(...of) })

type Said = Pick<VerdictStatement, 'verdict' | 'reason'>

/** What a node says of the current delivery, signed: the truth, as far as the evidence shows it, unless `said` is given. */
export async function verdictOf(node: TestNode, jobId: JobId, said?: Said): Promise<VerdictPost> {
  const { claimed, answer } = givenIn(node, jobId)
  const { to_check: seen } = await ownAssignment(node, jobId)
  if (!seen) throw new Error(`${node.name} has nothing to check`)
  const { signature: _, ...own } = answer
  const { compare } = comparators[claimed.comparator]
  const outcome = compare(seen.answer.body.evidence, own.evidence)
  const truth: Said =
    outcome === 'match'
      ? { verdict: 'match' }
      : {
          verdict: 'no-match',
          reason: outcome === 'no-match' ? 'different-answer' : 'inconclusive',
        }
  return signed(
    {
      statement: 'svc-verdict-v2',
      ...{ jobId, address: node.address, fence: claimed.fence },
      answer: await statementHash(own),
      delivery: await statementHash(seen.delivery.body),
      ...(said ?? truth),
    },
    node.key,
  )
}

/** Checks the current delivery, or says how the own answer differs from it. */
export const check = async (...of: Parameters<typeof verdictOf>) =>
  of[0].api.postVerdict({ body: await verdictOf(...of) })

/** A node's signed word that it gives back its part in a turn: in the current one unless another is named. */
export async function turnAbortOf(
  node: TestNode,
  jobId: JobId,
  reason: AbortReason,
  turn?: number,
): Promise<TurnAbortPost> {
  const { fence } = givenIn(node, jobId).claimed
  const now = turn ?? (await ownAssignment(node, jobId)).turn
  if (now === undefined) throw new Error(`${node.name} has no part in a turn`)
  return signed(
    {
      statement: 'svc-abort-v2',
      ...{ jobId, address: node.address, fence, turn: now, reason },
    },
    node.key,
  )
}

/** Gives back a node's part in a turn. */
export const abortTurn = async (...of: Parameters<typeof turnAbortOf>) =>
  of[0].api.abortTurn({ body: await turnAbortOf(...of) })

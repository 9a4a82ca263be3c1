import { z } from 'zod'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { type AnswerToWeigh, OwnAssignment } from '../../lib/schemas/assignments.ts'
import {
  AnswerPost,
  type AnswerStatement,
  DeliveryPost,
  type DeliveryStatement,
  type NumbersStatement,
  TurnAbortPost,
  type TurnAbortStatement,
  VerdictPost,
  type VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { commitmentOf, seenHash, signed, statementHash } from '../../lib/statements.ts'
import { sampleScore } from '../lib/attested.ts'
import type { Operation } from './api-document.ts'
import type { Requests } from './request-makers.ts'
import { type ClaimedAssignment, type FuzzWorld, remember, weighingHeartbeat } from './world.ts'

const salt = toBase64Url(new Uint8Array(32).fill(9))

/** A node's answer, its evidence under a fixed key. */
async function answerOf({
  node,
  claim,
  answer,
  seen = [],
}: ClaimedAssignment): Promise<AnswerStatement> {
  const { jobId, fence, position, list, activator, until } = claim
  const key = new Uint8Array(32).fill(3)
  return {
    statement: 'svc-answer-v3',
    ...{ jobId, address: node.address, fence, position, salt },
    list: listCommitment({ jobId, activator, until, list }),
    model_id: claim.model_id,
    max_output_tokens: claim.parameters.max_output_tokens,
    evidence: await comparators[claim.comparator].evidenceOf({ text: answer, prompt: '', key }),
    seen: await seenHash(seen),
    ended: 'stop',
  }
}

const anyCid = ({ cids }: FuzzWorld['model']): string => cids.at(-1) ?? `bafkrei${'b'.repeat(51)}a`

/** A node's numbers of the answers that it weighs, or its word that they are other texts. */
async function numbersOf(
  { node, claim: { jobId, fence } }: ClaimedAssignment,
  answers: readonly AnswerToWeigh[],
  isReadable: boolean,
): Promise<NumbersStatement> {
  const weighed = await Promise.all(
    answers.map(async ({ answer: { body } }) => {
      const answer = await statementHash(body)
      return { answer, ...(isReadable && { score: await sampleScore(answer) }) }
    }),
  )
  return { statement: 'svc-numbers-v1', jobId, address: node.address, fence, weighed, salt }
}

type Assigned = { jobId: `0x${string}`; fence: number; role: string }

/** Sound requests of nodes: sign of life, work, and its parts in order. */
export const nodeRequests: Requests = {
  postHeartbeat: async ({ icl, dice, nodes }, operation) => {
    const node = dice.pick(nodes)
    const body = weighingHeartbeat(node.address, icl.clock)
    return { operation, params: {}, query: {}, body, sender: node.signer }
  },
  getAssignments: async ({ dice, nodes, model }, operation) => {
    const node = dice.pick(nodes)
    const learn = (answer: { assignments: Assigned[] }) => {
      for (const { jobId, fence } of answer.assignments) {
        if (model.offers.some((offer) => offer.jobId === jobId && offer.fence === fence)) continue
        remember(model.offers, { node, jobId, fence }, 30)
      }
    }
    const query: Record<string, string> = dice.chance(0.05)
      ? { wait: String(dice.between(0, 30)) }
      : {}
    const params = { address: node.address }
    return { operation, params, query, sender: node.signer, learn }
  },
  claimAssignment: async ({ dice, model }, operation) => {
    const offer = model.offers.pop()
    if (!offer) return undefined
    const { node, jobId, fence } = offer
    const giveBack = () => remember(model.offers, offer, 30)
    const learn = (claim: ClaimedAssignment['claim']) =>
      remember(model.working, { node, claim, answer: dice.chance(0.95) ? 'yes' : 'no' }, 20)
    return {
      operation,
      params: {},
      query: {},
      body: { jobId, fence },
      sender: node.signer,
      learn,
      giveBack,
    }
  },
  commitAssignment: async ({ model }, operation) => {
    const claimed = model.working.pop()
    if (!claimed) return undefined
    const { node, claim } = claimed
    const { jobId, fence } = claim
    const commitment = await commitmentOf(await answerOf(claimed))
    const learn = () => remember(model.committed, claimed, 20)
    const giveBack = () => remember(model.working, claimed, 20)
    const body = { jobId, fence, commitment }
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  getAssignment: async (world, operation) => viewOf(world, operation),
  revealAnswer: async ({ model }, operation) => {
    const claimed = model.revealing.pop()
    if (!claimed) return undefined
    const { node } = claimed
    const body = z.encode(AnswerPost, await signed(await answerOf(claimed), node.key))
    const learn = () => remember(model.committed, claimed, 20)
    const giveBack = () => remember(model.revealing, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  postResult: async ({ icl, model }, operation) => {
    const claimed = model.delivering.pop()
    if (!claimed) return undefined
    const { node, claim, told } = claimed
    const [high, low] = [model.nextHandle, model.nextHandle + 1n]
    model.nextHandle += 2n
    const checkers = (told?.checkers ?? []).flatMap((position) => claim.list[position] ?? [])
    icl.chain.storeOutput(high, low, node.address, {
      promptHighHandle: BigInt(claim.kpHighHandle),
      self: claim.position,
      readers: [claim.client, ...checkers],
    })
    const statement: DeliveryStatement = {
      statement: 'svc-delivery-v2',
      ...{ jobId: claim.jobId, address: node.address, fence: claim.fence },
      answer: await statementHash(await answerOf(claimed)),
      output_cid: anyCid(model),
      ...{ outHighHandle: high, outLowHandle: low },
    }
    const body = z.encode(DeliveryPost, await signed(statement, node.key))
    const learn = () => remember(model.committed, claimed, 20)
    const giveBack = () => remember(model.delivering, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  postVerdict: async ({ model }, operation) => {
    const claimed = model.checking.pop()
    if (!claimed?.told?.to_check) return undefined
    const { node, claim } = claimed
    const { delivery, answer } = claimed.told.to_check
    const own = await answerOf(claimed)
    const matches =
      comparators[claim.comparator].compare(answer.body.evidence, own.evidence) === 'match'
    const statement: VerdictStatement = {
      statement: 'svc-verdict-v2',
      ...{ jobId: claim.jobId, address: node.address, fence: claim.fence },
      answer: await statementHash(own),
      delivery: await statementHash(delivery.body),
      verdict: matches ? 'match' : 'no-match',
      ...(!matches && { reason: 'different-answer' as const }),
    }
    const body = z.encode(VerdictPost, await signed(statement, node.key))
    const learn = () => remember(model.committed, claimed, 20)
    const giveBack = () => remember(model.checking, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  showAnswer: async ({ dice, model }, operation) => {
    const claimed = model.showing.pop()
    if (!claimed) return undefined
    const { node, claim } = claimed
    const cid = dice.chance(0.9) ? claimed.shown : anyCid(model)
    const body = { jobId: claim.jobId, fence: claim.fence, ...(cid && { cid }) }
    const learn = () => remember(model.committed, claimed, 20)
    const giveBack = () => remember(model.showing, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  weighAnswers: async ({ dice, model }, operation) => {
    const claimed = model.weighing.pop()
    const answers = claimed?.told?.to_weigh
    if (!answers) return undefined
    const { node, claim } = claimed
    const numbers = await numbersOf(claimed, answers, dice.chance(0.9))
    const { jobId, fence } = claim
    const body = { jobId, fence, commitment: await statementHash(numbers) }
    const learn = () => remember(model.committed, { ...claimed, numbers }, 20)
    const giveBack = () => remember(model.weighing, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  openNumbers: async ({ model }, operation) => {
    const claimed = model.opening.pop()
    if (!claimed?.numbers) return undefined
    const { node, numbers } = claimed
    const body = await signed(numbers, node.key)
    const giveBack = () => remember(model.opening, claimed, 20)
    const learn = () => remember(model.committed, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  // A node that has no part in a turn may say so all the same: it changes nothing.
  abortTurn: async ({ dice, model }, operation) => {
    const claimed = model.committed.at(-1) ?? model.checking.at(-1) ?? model.delivering.at(-1)
    if (claimed === undefined) return undefined
    const { node, claim, told } = claimed
    const statement: TurnAbortStatement = {
      statement: 'svc-abort-v2',
      ...{ jobId: claim.jobId, address: node.address, fence: claim.fence },
      turn: told?.turn ?? 0,
      reason: dice.pick(['node-failed', 'wallet-empty', 'node-stopping']),
    }
    const body = z.encode(TurnAbortPost, await signed(statement, node.key))
    return { operation, params: {}, query: {}, body, sender: node.signer }
  },
  abortAssignment: async ({ dice, model }, operation) => {
    const claimed = model.working.pop()
    if (!claimed) return undefined
    const { jobId, fence } = claimed.claim
    const reason = dice.pick(['node-failed', 'provider-rate-limited', 'prompt-unavailable'])
    const wait = dice.pick([{}, { retry_after: 1 }, { retry_after: 86_400 }])
    const body = { jobId, fence, reason, ...wait }
    const giveBack = () => remember(model.working, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: claimed.node.signer, giveBack }
  },
}

/** A node that has committed asks what to do; others look at what they have. */
function viewOf({ dice, model }: FuzzWorld, operation: Operation) {
  const committed = model.committed.shift()
  const claimed = committed ?? model.working.at(-1)
  if (!claimed) return undefined
  const { node, claim } = claimed
  const learn = (answer: unknown) => {
    if (!committed) return
    const told = OwnAssignment.parse(answer)
    const own = { ...claimed, told, seen: told.commitments ?? claimed.seen }
    const next = {
      ...{ reveal: model.revealing, deliver: model.delivering },
      ...{ check: model.checking, show: model.showing },
      ...{ weigh: model.weighing, open: model.opening },
    }
    const { step } = told
    if (step === 'wait') remember(model.committed, committed, 20)
    else if (step === 'differ') remember(model.checking, own, 20)
    else if (step !== 'work' && step !== 'over') {
      remember(next[step], own, 20)
    }
  }
  const giveBack = () => {
    if (committed) remember(model.committed, committed, 20)
  }
  const query: Record<string, string> = dice.chance(0.05)
    ? { wait: String(dice.between(0, 5)) }
    : {}
  return { operation, params: { jobId: claim.jobId }, query, sender: node.signer, learn, giveBack }
}

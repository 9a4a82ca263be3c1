import { z } from 'zod'
import type { Address } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { LeaderResult, VerifierVerdict } from '../../lib/schemas/assignments.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signResult,
  signVerdict,
  statementHash,
} from '../../lib/statements.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { modelId } from '../icl/test-icl.ts'
import type { Operation } from './api-document.ts'
import type { Requests } from './request-makers.ts'
import { type ClaimedAssignment, type FuzzWorld, remember } from './world.ts'

const salt = toBase64Url(new Uint8Array(32).fill(9))

/** What a node would answer, as evidence under a fixed key. */
const evidenceOf = ({ claim, answer }: ClaimedAssignment) =>
  comparators[claim.comparator].evidenceOf({
    text: answer,
    prompt: '',
    key: new Uint8Array(32).fill(3),
  })

type Assigned = { jobId: `0x${string}`; fence: number; role: string }

/** Sound requests of nodes: sign of life, work, and its parts in order. */
export const nodeRequests: Requests = {
  postHeartbeat: async ({ icl, dice, nodes }, operation) => {
    const node = dice.pick(nodes)
    const body = {
      operator_address: node.address,
      timestamp: Math.floor(icl.clock.now() / 1000),
      version: '0.0.0',
      free_slots: 2,
      supported_model_ids: [modelId],
    }
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
    const learn = (claim: ClaimedAssignment['claim']) => {
      const claimed = { node, claim, answer: dice.chance(0.95) ? 'yes' : 'no' }
      remember(claim.role === 'leader' ? model.leading : model.verifying, claimed, 20)
    }
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
    const claimed = model.verifying.pop()
    if (!claimed) return undefined
    const { node, claim } = claimed
    const { jobId, fence } = claim
    const evidence = await evidenceOf(claimed)
    const { address } = node
    const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
    const learn = () => remember(model.committed, claimed, 20)
    const giveBack = () => remember(model.verifying, claimed, 20)
    const body = { jobId, fence, commitment }
    return { operation, params: {}, query: {}, body, sender: node.signer, learn, giveBack }
  },
  getAssignment: async (world, operation) => viewOf(world, operation),
  postResult: async ({ icl, model }, operation) => {
    const claimed = model.leading.pop()
    if (!claimed) return undefined
    const { node, claim } = claimed
    const [high, low] = [model.nextHandle, model.nextHandle + 1n]
    model.nextHandle += 2n
    icl.chain.store(high, low, node.address, claim.output_readers as never, coordinator)
    const result = await signResult(
      node.address,
      {
        jobId: claim.jobId,
        fence: claim.fence,
        model_id: claim.model_id,
        max_output_tokens: claim.parameters.max_output_tokens,
        output_cid: model.cids.at(-1) ?? `bafkrei${'b'.repeat(52)}`,
        outHighHandle: high,
        outLowHandle: low,
        evidence: await evidenceOf(claimed),
      },
      node.key,
    )
    const body = z.encode(LeaderResult, result)
    const giveBack = () => remember(model.leading, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, giveBack }
  },
  postVerdict: async ({ model }, operation) => {
    const claimed = model.comparing.pop()
    if (!claimed?.seen) return undefined
    const { node, claim, seen } = claimed
    const { address: leaderAddress, ...leaderBody } = seen
    const evidence = await evidenceOf(claimed)
    const matches = comparators[claim.comparator].compare(seen.evidence, evidence) === 'match'
    const verdict = await signVerdict(
      node.address,
      {
        jobId: claim.jobId,
        fence: claim.fence,
        model_id: claim.model_id,
        max_output_tokens: claim.parameters.max_output_tokens,
        verdict: matches ? 'match' : 'no-match',
        ...(!matches && { reason: 'different-answer' as const }),
        evidence,
        salt,
        leader_statement: await statementHash(leaderStatementOf(leaderAddress, leaderBody)),
      },
      node.key,
    )
    const body = z.encode(VerifierVerdict, verdict)
    const giveBack = () => remember(model.comparing, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: node.signer, giveBack }
  },
  abortAssignment: async ({ dice, model }, operation) => {
    const claimed = model.verifying.pop() ?? model.leading.pop()
    if (!claimed) return undefined
    const { jobId, fence } = claimed.claim
    const reason = dice.pick(['node-failed', 'provider-rate-limited', 'prompt-unavailable'])
    const body = { jobId, fence, reason }
    const list = claimed.claim.role === 'leader' ? model.leading : model.verifying
    const giveBack = () => remember(list, claimed, 20)
    return { operation, params: {}, query: {}, body, sender: claimed.node.signer, giveBack }
  },
}

/** A verifier that has committed looks whether it may compare; others look at what they have. */
function viewOf({ dice, model }: FuzzWorld, operation: Operation) {
  const committed = model.committed.shift()
  const claimed = committed ?? model.verifying.at(-1) ?? model.leading.at(-1)
  if (!claimed) return undefined
  const { node, claim } = claimed
  const learn = (view: { phase: string; leader_statement?: unknown }) => {
    if (!committed) return
    if (view.leader_statement !== undefined) {
      const seen = LeaderResult.extend({ address: z.custom<Address>() }).parse(
        view.leader_statement,
      )
      remember(model.comparing, { ...claimed, seen }, 20)
    } else if (['running', 'open'].includes(view.phase)) remember(model.committed, committed, 20)
  }
  const giveBack = () => {
    if (committed) remember(model.committed, committed, 20)
  }
  const query: Record<string, string> = dice.chance(0.05)
    ? { wait: String(dice.between(0, 5)) }
    : {}
  return { operation, params: { jobId: claim.jobId }, query, sender: node.signer, learn, giveBack }
}

import { zeroHash } from 'viem'
import { z } from 'zod'
import { unixSeconds } from '../../lib/clock.ts'
import type { Hash32 } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { firstPositions } from '../../lib/list.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import { ListRequest, SignedList } from '../../lib/schemas/list.ts'
import { AgreementRule, type Terms } from '../../lib/schemas/terms.ts'
import { termsHash } from '../../lib/terms.ts'
import { aJobId } from '../branded.ts'
import { chainId, modelId, origin } from '../icl/test-icl.ts'
import type { Dice } from '../simulation/dice.ts'
import { type Requests, readerOf } from './request-makers.ts'
import { type ClaimedAssignment, type FuzzWorld, type KnownJob, remember } from './world.ts'

const cid = `bafkrei${'a'.repeat(52)}`

const about = (job: KnownJob, dice: Dice) => ({
  params: { jobId: job.jobId },
  sender: dice.chance(0.5) ? readerOf(job) : job.client.signer,
})

const forSeat = ({ node, claim: { jobId, fence } }: ClaimedAssignment) => ({
  query: { jobId, fence: String(fence) },
  sender: node.signer,
})

function forNewKey({ icl, dice, clients, model }: FuzzWorld) {
  const client = dice.pick(clients)
  const [high, low] = [model.nextHandle, model.nextHandle + 1n]
  model.nextHandle += 2n
  const terms = zeroHash as Hash32
  const block = icl.chain.storeKey(high, low, client.address, terms, unixSeconds(icl.clock))
  const query = { kpHighHandle: `${high}`, kpLowHandle: `${low}`, block_number: `${block}` }
  return { query, sender: client.signer }
}

/** Sound requests of clients, and those that anybody may make and that lead to a job. */
export const clientRequests: Requests = {
  previewQuorum: async ({ dice, model }, operation) => {
    const comparator = dice.chance(0.8) ? 'exact' : 'similar/2'
    const verifiers = dice.pick([2, 2, 2, 3])
    const query = { model_id: modelId, comparator, verifier_count: String(verifiers) }
    const learn = ({ pool_cid: poolCid }: { pool_cid: string }) =>
      remember(model.previews, { poolCid, comparator, quorum: verifiers + 1 }, 20)
    return { operation, params: {}, query, learn }
  },
  drawList: async ({ icl, dice, clients, model }, operation) => {
    const preview = model.previews.pop()
    if (!preview) return undefined
    const client = dice.pick(clients)
    const terms: Terms = {
      icl_origin: origin,
      pool_cid: preview.poolCid,
      model_id: modelId,
      min_tier: 0,
      comparator: preview.comparator,
      // The first that is accepted has opened numbers.
      ...((model.accepted.length === 0 || dice.chance(0.5)) && { needs: { parts: ['teacher'] } }),
      rule: dice.pick(AgreementRule.options),
      quorum: preview.quorum,
      max_answers: dice.between(preview.quorum, 7),
      min_matches: 1,
      list_length: dice.between(3, 16),
      salt: toBase64Url(dice.bytes(32)),
    }
    const [high, low] = [model.nextHandle, model.nextHandle + 1n]
    model.nextHandle += 2n
    const hash = await termsHash(terms)
    const block = icl.chain.storeKey(high, low, client.address, hash, unixSeconds(icl.clock))
    const key = { kpHighHandle: high, kpLowHandle: low, block_number: block, terms }
    const learn = (answer: unknown) =>
      remember(model.lists, { client, list: SignedList.parse(answer) }, 20)
    const giveBack = () => remember(model.previews, preview, 20)
    const body = z.encode(ListRequest, key)
    return { operation, params: {}, query: {}, body, sender: client.signer, learn, giveBack }
  },
  submitJob: async ({ icl, dice, model, planted }, operation) => {
    const listed = model.lists.pop()
    if (!listed) return undefined
    const { client, list } = listed
    const { kpHighHandle, kpLowHandle, terms, list: members, passed, coordinator } = list.body
    const promptCid = model.cids.at(-1) ?? cid
    const until = unixSeconds(icl.clock) + 1_200
    const jobId = jobIdOf({
      ...{ chainId, client: client.address, promptCid, kpHighHandle, kpLowHandle },
      clientNonce: kpHighHandle,
    })
    const first = firstPositions(members.length, passed, terms.quorum)
    icl.chain.commitList(
      kpHighHandle,
      kpLowHandle,
      listCommitment({ jobId, activator: coordinator, until, list: members }),
      first.flatMap((position) => members[position] ?? []),
    )
    const job = {
      model_id: modelId,
      prompt_cid: promptCid,
      kpHighHandle,
      kpLowHandle,
      list,
      until,
      client_nonce: kpHighHandle,
      ...(dice.chance(0.3) && { parameters: { max_output_tokens: dice.between(1, 8_192) } }),
      ...(dice.chance(0.3) && { webhook: { url: 'https://hooks.example.com/svc' } }),
    }
    const body = z.encode(SubmitJob, job)
    const giveBack = () => remember(model.lists, listed, 20)
    const learn = (answer: {
      jobId: `0x${string}`
      read_token: string
      webhook_secret?: string
    }) => {
      planted.add('read token', answer.read_token)
      if (answer.webhook_secret) planted.add('webhook secret', answer.webhook_secret)
      const readToken = answer.read_token
      remember(model.jobs, { client, jobId: aJobId(answer.jobId), readToken, body }, 40)
    }
    return { operation, params: {}, query: {}, body, sender: client.signer, learn, giveBack }
  },
  listJobs: async ({ dice, clients }, operation) => ({
    operation,
    params: {},
    query: dice.chance(0.5) ? { status: dice.pick(['open', 'accepted', 'cancelled']) } : {},
    sender: dice.pick(clients).signer,
  }),
  putBlob: async (world, operation) => {
    const { dice, model } = world
    const delivering = dice.chance(0.3) ? model.delivering.at(-1) : undefined
    const showing = model.showing.findIndex(({ shown }) => shown === undefined)
    const seat = (dice.chance(0.9) ? model.showing[showing] : undefined) ?? delivering
    const { query, sender } = seat ? forSeat(seat) : forNewKey(world)
    const body = Uint8Array.of(1, ...dice.bytes(dice.between(28, 200)))
    const learn = ({ cid }: { cid: string }) => {
      remember(model.cids, cid)
      if (seat && seat === model.showing[showing]) model.showing[showing] = { ...seat, shown: cid }
    }
    return { operation, params: {}, query, body, sender, learn }
  },
  getBlob: async ({ dice, model }, operation) =>
    model.cids.length === 0
      ? undefined
      : { operation, params: { cid: dice.pick(model.cids) }, query: {} },
  getJob: async ({ dice, model }, operation) => {
    if (model.jobs.length === 0) return undefined
    const job = dice.pick(model.jobs)
    const learn = ({ status }: { status: string }) => {
      const isKnown = model.accepted.some(({ jobId }) => jobId === job.jobId)
      if (status === 'accepted' && !isKnown) remember(model.accepted, job, 20)
    }
    return { operation, ...about(job, dice), query: {}, learn }
  },
  getReceipt: async ({ dice, model }, operation) => {
    const list = model.accepted.length > 0 && dice.chance(0.9) ? model.accepted : model.jobs
    return list.length === 0 ? undefined : { operation, ...about(dice.pick(list), dice), query: {} }
  },
  cancelJob: async ({ dice, model }, operation) => {
    const job = model.jobs.length > 0 ? dice.pick(model.jobs.slice(-6)) : undefined
    return job && { operation, params: { jobId: job.jobId }, query: {}, sender: job.client.signer }
  },
}

import { z } from 'zod'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import { aJobId, anAddress } from '../branded.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { modelId } from '../icl/test-icl.ts'
import type { Dice } from '../simulation/dice.ts'
import { type Requests, readerOf } from './request-makers.ts'
import { type KnownJob, remember } from './world.ts'

const cid = `bafkrei${'a'.repeat(52)}`

const about = (job: KnownJob, dice: Dice) => ({
  params: { jobId: job.jobId },
  sender: dice.chance(0.5) ? readerOf(job) : job.client.signer,
})

/** Sound requests of clients, and those that anybody may make and that lead to a job. */
export const clientRequests: Requests = {
  previewQuorum: async ({ dice, clients, model }, operation) => {
    const client = dice.pick(clients)
    const comparator = dice.chance(0.8) ? 'exact' : 'similar/2'
    const query = {
      client: client.address,
      model_id: modelId,
      comparator,
      verifier_count: String(dice.pick([2, 2, 2, 3])),
    }
    const learn = (answer: { preview: string; leader: string; verifiers: string[] }) => {
      const chosen = [answer.leader, ...answer.verifiers].map(anAddress)
      remember(model.previews, { client, preview: answer.preview, chosen, comparator }, 20)
    }
    return { operation, params: {}, query, learn }
  },
  submitJob: async ({ icl, dice, model, planted }, operation) => {
    const previewed = model.previews.pop()
    if (!previewed) return undefined
    const { client, preview, chosen, comparator } = previewed
    const [high, low] = [model.nextHandle, model.nextHandle + 1n]
    model.nextHandle += 2n
    icl.chain.store(high, low, client.address, [...chosen], coordinator)
    const job = {
      model_id: modelId,
      prompt_cid: model.cids.at(-1) ?? cid,
      kpHighHandle: high,
      kpLowHandle: low,
      preview,
      comparator: comparator as 'exact',
      client_nonce: high,
      ...(dice.chance(0.3) && { parameters: { max_output_tokens: dice.between(1, 8_192) } }),
      ...(dice.chance(0.3) && { webhook: { url: 'https://hooks.example.com/svc' } }),
    }
    const body = z.encode(SubmitJob, job)
    const giveBack = () => remember(model.previews, previewed, 20)
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
  putBlob: async ({ dice, clients, nodes, model }, operation) => ({
    operation,
    params: {},
    query: {},
    body: dice.bytes(dice.between(1, 200)),
    sender: dice.chance(0.5) ? dice.pick(clients).signer : dice.pick(nodes).signer,
    learn: (answer: { cid: string }) => remember(model.cids, answer.cid),
  }),
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

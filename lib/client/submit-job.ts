import { bytesToBigInt } from 'viem'
import { z } from 'zod'
import { cidOf } from '../cid.ts'
import type { JobId } from '../codecs.ts'
import { type JobIdentity, jobIdOf } from '../job-id.ts'
import { maskOf } from '../list.ts'
import type { ListTerms } from '../list-commitment.ts'
import { type Parameters, SubmitJob, type SubmittedJob } from '../schemas/jobs.ts'
import type { Network } from '../schemas/network.ts'
import { SvcError } from '../svc-error.ts'
import { whyRefused } from '../webhook-url.ts'
import type { QuorumWish } from './choose-terms.ts'
import { type ClientContext, patient } from './context.ts'
import type { JobList } from './own-list.ts'

/** How the nodes run a job, and how their answers are compared. */
export type JobWish = QuorumWish & {
  readonly parameters?: Parameters | undefined
  /** A server that the ICL notifies once the job has settled. */
  readonly webhook?: SubmitJob['webhook']
}

const Wished = SubmitJob.pick({ model_id: true, parameters: true, webhook: true })

/** Refuses what no submission may hold, before anything is paid. Throws SvcError `request-invalid`, `webhooks-off` or `webhook-refused`. */
export function checkWish(
  { model, parameters, webhook }: Pick<JobWish, 'model' | 'parameters' | 'webhook'>,
  { webhooks }: Pick<Network, 'webhooks'>,
): void {
  const refused = (code: string, why: string) =>
    new SvcError(code, `The job cannot be run: ${why}`, { hint: 'Correct what was given.' })
  const { error } = Wished.safeParse({ model_id: model, parameters, webhook })
  if (error) throw refused('request-invalid', z.prettifyError(error))
  if (!webhook) return
  if (webhooks === 'off') throw refused('webhooks-off', 'its ICL sends no webhooks')
  const reason = whyRefused(webhook.url, webhooks === 'http')
  if (reason) throw refused('webhook-refused', `the URL of its webhook: ${reason}`)
}

/** Submits a job with its list. Throws SvcError `job-id-wrong` when the ICL answers about another job. */
export async function submitJob(
  { api }: ClientContext,
  { identity, list }: JobOrder,
  wish: JobWish,
  signal?: AbortSignal,
): Promise<z.output<typeof SubmittedJob>> {
  const jobId = jobIdOf(identity)
  const submitted = await api.submitJob(
    {
      body: {
        model_id: wish.model,
        prompt_cid: identity.promptCid,
        kpHighHandle: identity.kpHighHandle,
        kpLowHandle: identity.kpLowHandle,
        client_nonce: identity.clientNonce,
        list: list.signed,
        until: list.until,
        ...(wish.parameters && { parameters: wish.parameters }),
        ...(wish.webhook && { webhook: wish.webhook }),
      },
    },
    { ...patient, signal },
  )
  if (submitted.jobId === jobId) return submitted
  throw new SvcError('job-id-wrong', `The ICL answered about ${submitted.jobId}, not ${jobId}`, {
    hint: 'Check the chain id and the version of the ICL.',
  })
}

/** Makes the identity of a new job from its prompt and the handles of the prompt's key. Each call makes another job. */
export function nameJob(
  { address, network, random }: Pick<ClientContext, 'address' | 'network' | 'random'>,
  parts: {
    readonly promptCid: string
    readonly highHandle: bigint
    readonly lowHandle: bigint
  },
): { readonly jobId: JobId; readonly identity: JobIdentity } {
  const identity: JobIdentity = {
    chainId: network.chain_id,
    client: address,
    promptCid: parts.promptCid,
    kpHighHandle: parts.highHandle,
    kpLowHandle: parts.lowHandle,
    clientNonce: bytesToBigInt(random.bytes(32)),
  }
  return { jobId: jobIdOf(identity), identity }
}

/** A job that is about to be submitted: its identity, and the list that it is bound to. */
export type JobOrder = { readonly identity: JobIdentity; readonly list: JobList }

/** Returns what the client commits to on chain for a job. */
export const listTermsOf = ({ identity, list: { signed, until } }: JobOrder): ListTerms => ({
  jobId: jobIdOf(identity),
  activator: signed.body.coordinator,
  until,
  list: signed.body.list,
})

/** Binds the key to job and list on chain, for good, and lets the first seats read it; throws `commit-list-reverted` or a chain error. */
export async function commitList(
  { chain }: Pick<ClientContext, 'chain'>,
  order: JobOrder,
  signal?: AbortSignal,
): Promise<void> {
  const { identity, list } = order
  await chain.commitList(
    {
      highHandle: identity.kpHighHandle,
      lowHandle: identity.kpLowHandle,
      terms: listTermsOf(order),
      mask: maskOf(list.positions),
    },
    signal,
  )
}

/** Uploads the encrypted prompt and returns its CID. Throws SvcError `blob-cid-wrong` when the ICL names another CID. */
export async function uploadBlob(
  { api }: ClientContext,
  blob: Uint8Array<ArrayBuffer>,
  { signed: { body } }: Pick<JobList, 'signed'>,
  signal?: AbortSignal,
): Promise<string> {
  const expected = await cidOf(blob)
  const { kpHighHandle, kpLowHandle, block } = body
  const query = { kpHighHandle, kpLowHandle, block_number: block.number }
  const { cid } = await api.putBlob({ query, body: blob }, { ...patient, signal })
  if (cid === expected) return cid
  throw new SvcError('blob-cid-wrong', `The ICL stored ${cid} instead of ${expected}`, {
    hint: 'Do not use this ICL: it changed the blob or its name.',
  })
}

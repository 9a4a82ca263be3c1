// What a client does in a test of the ICL.
import { zeroHash } from 'viem'
import { unixSeconds } from '../../lib/clock.ts'
import type { Hash32 } from '../../lib/codecs.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { ListRequest } from '../../lib/schemas/list.ts'
import { listKey, type TermsChoice } from '../listed-key.ts'
import { chainId, modelId, type Outside, origin, walletOf } from './test-icl.ts'

// As long as real ones: a few digits may stand in any hash by chance, where a test looks for them.
let lastHandle = 0x5ca1_ab1e_0ddb_a11_c0de_f00d_babe_cafe_1234_5678n

/** A handle that nothing has had yet. */
export const newHandle = (): bigint => ++lastHandle

/** Stores a prompt key of a client; names it as its upload does. */
export function storedKey(icl: Pick<Outside, 'chain' | 'clock'>, client: string) {
  const [kpHighHandle, kpLowHandle] = [newHandle(), newHandle()]
  const { address } = walletOf(client)
  const terms = zeroHash as Hash32
  const at = unixSeconds(icl.clock)
  const block_number = icl.chain.storeKey(kpHighHandle, kpLowHandle, address, terms, at)
  return { kpHighHandle, kpLowHandle, block_number }
}

type KeyOptions = TermsChoice & {
  readonly client?: string
  readonly calls?: { readonly attempts?: number; readonly timeoutMs?: number }
}

/** Stores a prompt key of a client under terms and asks for its list, as a client does before it submits. */
export async function listedKey(icl: Outside, options: KeyOptions = {}) {
  const client = walletOf(options.client ?? 'client')
  const api = icl.api(client.signer)
  const [high, low] = [newHandle(), newHandle()]
  const listed = await listKey(api, {
    ...options,
    origin,
    modelId,
    storeKey: async (terms) => {
      const at = unixSeconds(icl.clock)
      const blockNumber = icl.chain.storeKey(high, low, client.address, terms, at)
      return { highHandle: high, lowHandle: low, blockNumber }
    },
  })
  const [leader, ...verifiers] = listed.first
  if (!leader) throw new Error('nobody is seated first')
  const request: ListRequest = {
    kpHighHandle: high,
    kpLowHandle: low,
    block_number: listed.list.body.block.number,
    terms: listed.terms,
  }
  return { client, api, leader, verifiers, request, ...listed }
}

type SubmittedKey = Pick<
  Awaited<ReturnType<typeof listedKey>>,
  'client' | 'list' | 'first' | 'highHandle' | 'lowHandle'
>

/** The submission of a listed key, and its commitment on chain. */
export function submissionOf(
  icl: Outside,
  { client, list, first, highHandle, lowHandle }: SubmittedKey,
  options: { readonly promptCid?: string; readonly webhook?: string } = {},
) {
  const body = {
    model_id: modelId,
    prompt_cid: options.promptCid ?? `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    list,
    until: unixSeconds(icl.clock) + 1_200,
    client_nonce: highHandle,
    ...(options.webhook !== undefined && { webhook: { url: options.webhook } }),
  }
  const jobId = jobIdOf({
    chainId,
    client: client.address,
    promptCid: body.prompt_cid,
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    clientNonce: body.client_nonce,
  })
  const { list: members, coordinator: activator } = list.body
  const commitment = listCommitment({ jobId, activator, until: body.until, list: members })
  return {
    body,
    jobId,
    /** Commits to the list on chain, as the client does beside its submission; the nodes seated first may read. */
    commit: () => icl.chain.commitList(highHandle, lowHandle, commitment, first),
  }
}

/** Submits a job of a client that has committed to its list, unless `commit` is false. */
export async function submit(
  icl: Outside,
  options: KeyOptions & {
    readonly commit?: boolean
    readonly promptCid?: string
    readonly webhook?: string
  } = {},
) {
  const key = await listedKey(icl, options)
  const { body, commit } = submissionOf(icl, key, options)
  if (options.commit !== false) commit()
  const submitted = await key.api.submitJob({ body })
  await icl.clock.advance(300)
  return { ...key, body, commit, ...submitted, readToken: submitted.read_token }
}

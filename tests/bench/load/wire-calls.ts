import { z } from 'zod'
import type { Address, JobId } from '../../../lib/codecs.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import { LeaderResult, VerifierVerdict } from '../../../lib/schemas/assignments.ts'
import { SubmitJob } from '../../../lib/schemas/jobs.ts'
import { ListRequest, type SignedList } from '../../../lib/schemas/list.ts'
import type { Terms } from '../../../lib/schemas/terms.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signResult,
  signVerdict,
  statementHash,
} from '../../../lib/statements.ts'
import { systemRandom } from '../../../lib/system.ts'
import { termsHash } from '../../../lib/terms.ts'
import { commitListed, handlesOf, outputHandlesOf } from '../../contention/chain.ts'
import { evidenceOf, modelId, origin } from '../../icl/test-icl.ts'
import type { Call } from './signed-request.ts'

const evidence = await evidenceOf('yes')
const salt = 'CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk'
const maxOutputTokens = 1_024
const cidOf = (letter: string) => `bafkrei${letter.repeat(52)}`

/** An offer as a node gets it. */
export type Offer = { readonly jobId: JobId; readonly fence: number; readonly role: string }

/** The verifiers' part of what a leader stated. */
export type LeaderView = { readonly leader_statement?: unknown }

export const poll = (address: Address, waitSeconds: number): Call => ({
  method: 'GET',
  path: `/internal/assignments/${address}?wait=${waitSeconds}`,
})

export const claim = ({ jobId, fence }: Offer): Call => ({
  method: 'POST',
  path: '/internal/task/claim',
  body: { jobId, fence },
})

export const preview: Call = {
  method: 'GET',
  path: `/v1/inference/quorum-preview?model_id=${encodeURIComponent(modelId)}`,
}

/** A prompt key that a client stores under terms for a pool. */
export async function storedKey(client: Address, poolCid: string) {
  const terms: Terms = {
    icl_origin: origin,
    pool_cid: poolCid,
    model_id: modelId,
    min_tier: 0,
    comparator: 'exact',
    quorum: 3,
    min_matches: 1,
    list_length: 9,
    salt: toBase64Url(systemRandom.bytes(32)),
  }
  return { terms, ...handlesOf(client, await termsHash(terms)) }
}

type StoredKey = Awaited<ReturnType<typeof storedKey>>

export const list = ({ terms, highHandle, lowHandle, blockNumber }: StoredKey): Call => ({
  method: 'POST',
  path: '/v1/inference/list',
  body: z.encode(ListRequest, {
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    block_number: blockNumber,
    terms,
  }),
})

export function submission(client: Address, key: StoredKey, signed: SignedList): Call {
  const { highHandle, lowHandle } = key
  const until = signed.body.at + 1_200
  commitListed(client, cidOf('a'), until, { ...key, list: signed })
  return {
    method: 'POST',
    path: '/v1/inference',
    body: z.encode(SubmitJob, {
      model_id: modelId,
      prompt_cid: cidOf('a'),
      kpHighHandle: highHandle,
      kpLowHandle: lowHandle,
      list: signed,
      until,
      client_nonce: 0n,
    }),
  }
}

/** A leader's answer, which all give alike. */
export async function result(node: NodeSigner, { jobId, fence }: Offer): Promise<Call> {
  const [outHighHandle, outLowHandle] = outputHandlesOf(node.address)
  const output_cid = cidOf('b')
  const statement = {
    jobId,
    fence,
    model_id: modelId,
    max_output_tokens: maxOutputTokens,
    output_cid,
    outHighHandle,
    outLowHandle,
    evidence,
  }
  const body = await signResult(node.address, statement, node.key)
  return { method: 'POST', path: '/internal/task/result', body: z.encode(LeaderResult, body) }
}

export async function commitment({ address }: NodeSigner, { jobId, fence }: Offer): Promise<Call> {
  const sealed = await commitmentOf({ jobId, address, fence, evidence, salt })
  return {
    method: 'POST',
    path: '/internal/task/commit',
    body: { jobId, fence, commitment: sealed },
  }
}

export const task = ({ jobId }: Offer): Call => ({
  method: 'GET',
  path: `/internal/task/${jobId}?wait=30`,
})

/** A verifier's verdict that the leader's answer is its own. */
export async function verdict(
  node: NodeSigner,
  { jobId, fence }: Offer,
  seen: LeaderView,
): Promise<Call> {
  const { address, ...given } = seen.leader_statement as { readonly address: Address }
  const statement = leaderStatementOf(address, LeaderResult.parse(given))
  const body = await signVerdict(
    node.address,
    {
      jobId,
      fence,
      model_id: modelId,
      max_output_tokens: maxOutputTokens,
      verdict: 'match',
      evidence,
      salt,
      leader_statement: await statementHash(statement),
    },
    node.key,
  )
  return { method: 'POST', path: '/internal/task/verify', body: z.encode(VerifierVerdict, body) }
}

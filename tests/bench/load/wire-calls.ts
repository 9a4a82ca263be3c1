import { z } from 'zod'
import type { Address, JobId } from '../../../lib/codecs.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import {
  ClaimResult,
  type DeliveryToCheck,
  type OwnAssignment,
} from '../../../lib/schemas/assignments.ts'
import { SubmitJob } from '../../../lib/schemas/jobs.ts'
import { ListRequest, type SignedList } from '../../../lib/schemas/list.ts'
import { AnswerPost, DeliveryPost, VerdictPost } from '../../../lib/schemas/statements.ts'
import type { Terms } from '../../../lib/schemas/terms.ts'
import { commitmentOf, seenHash, signed, statementHash } from '../../../lib/statements.ts'
import { systemRandom } from '../../../lib/system.ts'
import { termsHash } from '../../../lib/terms.ts'
import { commitListed, handlesOf, storeOutput } from '../../contention/chain.ts'
import { answerOf } from '../../icl/node-steps.ts'
import { modelId, origin } from '../../icl/test-icl.ts'
import type { Call } from './signed-request.ts'

const cidOf = (letter: string) => `bafkrei${letter.repeat(51)}a`

/** An offer as a node gets it. */
export type Offer = { readonly jobId: JobId; readonly fence: number }

/** A node's answer to the work that it claimed. */
export type Given = Awaited<ReturnType<typeof givenTo>>

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
    rule: 'three',
    quorum: 3,
    max_answers: 7,
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

/** The answer to a claim, which all nodes give alike. */
export const givenTo = (node: NodeSigner, claimed: unknown) =>
  answerOf(node, ClaimResult.parse(claimed), 'yes')

export async function commitment(answer: Given): Promise<Call> {
  const { jobId, fence } = answer
  const body = { jobId, fence, commitment: await commitmentOf(answer) }
  return { method: 'POST', path: '/internal/task/commit?wait=20', body }
}

export const task = ({ jobId }: Offer): Call => ({
  method: 'GET',
  path: `/internal/task/${jobId}?wait=20`,
})

/** The answer with the commitments of its batch, which its node has seen. */
export async function opened(
  { key }: NodeSigner,
  { signature: _, ...answer }: Given,
  { commitments = [] }: OwnAssignment,
): Promise<Given> {
  return signed({ ...answer, seen: await seenHash(commitments) }, key)
}

export const reveal = (answer: Given): Call => ({
  method: 'POST',
  path: '/internal/task/reveal?wait=20',
  body: z.encode(AnswerPost, answer),
})

/** A node's delivery, whose output key the client and the checkers can read on the chain of the run. */
export async function delivery(
  node: NodeSigner,
  answer: Given,
  claimed: unknown,
  checkers: readonly number[],
): Promise<Call> {
  const { jobId, address, fence } = answer
  const { client, list, position, kpHighHandle } = ClaimResult.parse(claimed)
  const [outHighHandle, outLowHandle] = storeOutput(address, {
    promptHighHandle: kpHighHandle,
    self: position,
    readers: [client, ...checkers.flatMap((at) => list[at] ?? [])],
  })
  const post = await signed(
    {
      statement: 'svc-delivery-v2',
      ...{ jobId, address, fence, answer: await statementHash(answer) },
      ...{ output_cid: cidOf('b'), outHighHandle, outLowHandle },
    },
    node.key,
  )
  return { method: 'POST', path: '/internal/task/result', body: z.encode(DeliveryPost, post) }
}

/** A node's verdict that what was delivered is its answer, too. */
export async function verdict(
  node: NodeSigner,
  answer: Given,
  seen: DeliveryToCheck,
): Promise<Call> {
  const { jobId, address, fence } = answer
  const post = await signed(
    {
      statement: 'svc-verdict-v2',
      ...{ jobId, address, fence, answer: await statementHash(answer) },
      ...{ delivery: await statementHash(seen.delivery.body), verdict: 'match' },
    },
    node.key,
  )
  return { method: 'POST', path: '/internal/task/verify', body: z.encode(VerdictPost, post) }
}

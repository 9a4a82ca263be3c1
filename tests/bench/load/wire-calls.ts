import { z } from 'zod'
import type { Address, JobId } from '../../../lib/codecs.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import { LeaderResult, VerifierVerdict } from '../../../lib/schemas/assignments.ts'
import { SubmitJob } from '../../../lib/schemas/jobs.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signResult,
  signVerdict,
  statementHash,
} from '../../../lib/statements.ts'
import { handlesOf } from '../../contention/chain.ts'
import { evidenceOf, modelId } from '../../icl/test-icl.ts'
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

export const preview = (client: Address): Call => ({
  method: 'GET',
  path: `/v1/inference/quorum-preview?client=${client}&model_id=${encodeURIComponent(modelId)}&min_tier=0&verifier_count=2`,
})

export const submission = (client: Address, token: string, nonce: number): Call => {
  const [kpHighHandle, kpLowHandle] = handlesOf(client)
  return {
    method: 'POST',
    path: '/v1/inference',
    body: z.encode(SubmitJob, {
      model_id: modelId,
      prompt_cid: cidOf('a'),
      kpHighHandle,
      kpLowHandle,
      preview: token,
      client_nonce: BigInt(nonce),
    }),
  }
}

/** A leader's answer, which all give alike. */
export async function result(node: NodeSigner, { jobId, fence }: Offer): Promise<Call> {
  const [outHighHandle, outLowHandle] = handlesOf(node.address)
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

import { describeAgreed } from '../../lib/client/agreed.ts'
import type { PoolComparison } from '../../lib/client/compare-pool.ts'
import type { UncommittedError, UncommittedInference } from '../../lib/client/inference.ts'
import type { Hash32 } from '../../lib/codecs.ts'
import { utf8 } from '../../lib/digest.ts'
import { codeOf } from './openai-error.ts'

/** A checked answer, and when it was asked for (Unix seconds). */
export type Answered = {
  /** Without `commitTx` when the commitment was not seen on chain. */
  readonly inference: UncommittedInference & { readonly commitTx?: Hash32 }
  /** Why the commitment was not seen. */
  readonly unseen: UncommittedError | undefined
  readonly created: number
  /** The pool of the draw, compared with the chain. */
  readonly pool: PoolComparison | undefined
  /** Bytes of the prompt document. */
  readonly promptBytes: number
  /** Parameters that had no effect. */
  readonly ignored: readonly string[]
}

/** Says how many active nodes the pool leaves out, such as `1 of 8`; `unknown` when the chain RPC does not tell. */
const leftOutOf = ({ pool }: Answered): string =>
  pool?.leftOut === undefined ? 'unknown' : `${pool.leftOut} of ${pool.active + pool.leftOut}`

/** The member `svc` of an answer, which says where its proof is. */
export const proofOf = (answered: Answered) => {
  const { inference, unseen, ignored } = answered
  const { jobId, agreed, receiptHash, commitTx } = inference
  return {
    svc: {
      job_id: jobId,
      agreement: describeAgreed(agreed),
      pool_left_out: leftOutOf(answered),
      receipt_hash: receiptHash,
      ...(commitTx && { commit_tx: commitTx }),
      ...(unseen && { commit_unseen: codeOf(unseen) }),
      usage: inference.usage ? 'provider' : 'estimated',
      ...(ignored.length > 0 && { ignored }),
    },
  }
}

const bytesPerToken = 4

/** The tokens that the nodes stated; else an estimate at 4 bytes each. Agents need them to shorten conversations. */
export function usageOf({ inference: { usage, output }, promptBytes }: Answered) {
  const tokens = (bytes: number) => Math.ceil(bytes / bytesPerToken)
  const asked = usage?.input_tokens ?? tokens(promptBytes)
  const answered = usage?.output_tokens ?? tokens(utf8(output).length)
  return { asked, answered, total: asked + answered }
}

/** The headers with the agreement, the pool, the receipt and its place on chain. */
export const proofHeaders = (answered: Answered) => {
  const { svc } = proofOf(answered)
  return {
    'x-svc-agreement': svc.agreement,
    'x-svc-pool-left-out': svc.pool_left_out,
    'x-svc-job-id': svc.job_id,
    'x-svc-receipt-hash': svc.receipt_hash,
    ...(svc.commit_tx && { 'x-svc-commit-tx': svc.commit_tx }),
    ...(svc.commit_unseen && { 'x-svc-commit-unseen': svc.commit_unseen }),
  }
}

/** The content of an answer. */
export type Said = {
  /** Null where tools are called. */
  readonly content: string | null
  /** The tools it calls: a call has the id of its job and its place. */
  readonly calls: readonly {
    readonly id: string
    readonly name: string
    readonly arguments: string
  }[]
  readonly isCut: boolean
}

/** Reads what an answer says, and the tools that it calls. */
export function saidIn({ inference: { answer, output, jobId, ended } }: Answered): Said {
  const isCut = ended === 'length'
  if (!answer) return { content: output, calls: [], isCut }
  if ('content' in answer) return { content: answer.content, calls: [], isCut }
  const calls = answer.tool_calls.map((called, index) => ({
    id: `call_${jobId.slice(2, 26)}_${index}`,
    ...called,
  }))
  return { content: null, calls, isCut }
}

const maxPieceChars = 64

/** Splits a text into the pieces of a stream, between characters. */
export const piecesOf = (text: string): readonly string[] =>
  text.match(new RegExp(`.{1,${maxPieceChars}}`, 'gsu')) ?? []

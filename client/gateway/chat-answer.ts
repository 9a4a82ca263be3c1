import { describeAgreed } from '../../lib/client/agreed.ts'
import type { PoolComparison } from '../../lib/client/compare-pool.ts'
import type { AcceptedInference } from '../../lib/client/inference.ts'
import { utf8 } from '../../lib/digest.ts'

/** An accepted answer, and when its completion was made (Unix seconds). */
export type Answered = {
  readonly inference: AcceptedInference
  readonly created: number
  /** What the chain says of the pool that the nodes were drawn from. */
  readonly pool: PoolComparison | undefined
  /** Bytes of the prompt document. */
  readonly promptBytes: number
  /** Parameters that had no effect. */
  readonly ignored: readonly string[]
}

const maxPieceChars = 64

const commonOf = ({ inference, created }: Answered, object: string) => ({
  id: `chatcmpl-${inference.jobId.slice(2, 34)}`,
  object,
  created,
  model: inference.model,
})

/** Such as `1 of 8`: how many active nodes the pool leaves out; `unknown` where the chain RPC does not tell. */
const leftOutOf = ({ pool }: Answered): string =>
  pool?.leftOut === undefined ? 'unknown' : `${pool.leftOut} of ${pool.active + pool.leftOut}`

/** Where the proof of an answer is. */
const proofOf = (answered: Answered) => {
  const { inference, ignored } = answered
  const { jobId, agreed, receiptHash, commitTx } = inference
  return {
    svc: {
      job_id: jobId,
      agreement: describeAgreed(agreed),
      pool_left_out: leftOutOf(answered),
      receipt_hash: receiptHash,
      commit_tx: commitTx,
      usage: 'estimated',
      ...(ignored.length > 0 && { ignored }),
    },
  }
}

const bytesPerToken = 4

/** Tokens of prompt and answer, estimated at 4 bytes a token: agents shorten their conversations by it. No node states a count that could be checked. */
function usageOf({ inference, promptBytes }: Answered) {
  const tokens = (bytes: number) => Math.ceil(bytes / bytesPerToken)
  const prompt_tokens = tokens(promptBytes)
  const completion_tokens = tokens(utf8(inference.output).length)
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens }
}

/** The headers that say how many agreed and what the pool leaves out, and name the receipt. */
export const proofHeaders = (answered: Answered) => {
  const { svc } = proofOf(answered)
  return {
    'x-svc-agreement': svc.agreement,
    'x-svc-pool-left-out': svc.pool_left_out,
    'x-svc-job-id': svc.job_id,
    'x-svc-receipt-hash': svc.receipt_hash,
    'x-svc-commit-tx': svc.commit_tx,
  }
}

/** What an answer says, and the tools it calls: a call has the id of its job and its place. */
function messageOf({ inference: { answer, output, jobId } }: Answered) {
  if (!answer) return { content: output }
  if ('content' in answer) return { content: answer.content }
  return {
    tool_calls: answer.tool_calls.map((called, index) => ({
      id: `call_${jobId.slice(2, 26)}_${index}`,
      type: 'function' as const,
      function: called,
    })),
  }
}

const finishOf = ({ inference: { answer } }: Answered): string => answer?.finish_reason ?? 'stop'

/** An answer as one completion. */
export const completionOf = (answered: Answered) => ({
  ...commonOf(answered, 'chat.completion'),
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: null, refusal: null, ...messageOf(answered) },
      logprobs: null,
      finish_reason: finishOf(answered),
    },
  ],
  usage: usageOf(answered),
  ...proofOf(answered),
})

/** An answer as the chunks of a stream: the role, the text in pieces, the end, and the usage if it was asked for. */
export function chunksOf(answered: Answered, includeUsage: boolean): readonly object[] {
  const common = commonOf(answered, 'chat.completion.chunk')
  const chunk = (delta: object, finish: string | null) => ({
    ...common,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage && { usage: null }),
  })
  const { content = '', tool_calls: calls = [] } = messageOf(answered)
  return [
    chunk({ role: 'assistant', content: calls.length > 0 ? null : '' }, null),
    ...piecesOf(content).map((piece) => chunk({ content: piece }, null)),
    ...calls.flatMap(({ function: { name, arguments: written }, ...call }, index) => [
      chunk({ tool_calls: [{ index, ...call, function: { name, arguments: '' } }] }, null),
      ...piecesOf(written).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }, null),
      ),
    ]),
    { ...chunk({}, finishOf(answered)), ...proofOf(answered) },
    ...(includeUsage ? [{ ...common, choices: [], usage: usageOf(answered) }] : []),
  ]
}

const piecesOf = (text: string): readonly string[] =>
  text.match(new RegExp(`.{1,${maxPieceChars}}`, 'gsu')) ?? []

import { describeAgreed } from '../../lib/client/agreed.ts'
import type { AcceptedInference } from '../../lib/client/inference.ts'

/** An accepted answer, and when its completion was made (Unix seconds). */
export type Answered = { readonly inference: AcceptedInference; readonly created: number }

const maxPieceChars = 64

const commonOf = ({ inference, created }: Answered, object: string) => ({
  id: `chatcmpl-${inference.jobId.slice(2, 34)}`,
  object,
  created,
  model: inference.model,
})

/** Where the proof of an answer is. */
const proofOf = ({ jobId, agreed, receiptHash, commitTx }: AcceptedInference) => ({
  svc: {
    job_id: jobId,
    agreement: describeAgreed(agreed),
    receipt_hash: receiptHash,
    commit_tx: commitTx,
  },
})

/** The headers that say how many agreed, and name the receipt. */
export const proofHeaders = ({ jobId, agreed, receiptHash, commitTx }: AcceptedInference) => ({
  'x-svc-agreement': describeAgreed(agreed),
  'x-svc-job-id': jobId,
  'x-svc-receipt-hash': receiptHash,
  'x-svc-commit-tx': commitTx,
})

/** An answer as one completion; it has no `usage`, since nobody counted the model's tokens in a way that can be checked. */
export const completionOf = (answered: Answered) => ({
  ...commonOf(answered, 'chat.completion'),
  choices: [
    {
      index: 0,
      message: { role: 'assistant', content: answered.inference.output, refusal: null },
      logprobs: null,
      finish_reason: 'stop',
    },
  ],
  ...proofOf(answered.inference),
})

/** An answer as the chunks of a stream: the role, the text in pieces, the end, and the usage (which is null) if it was asked for. */
export function chunksOf(answered: Answered, includeUsage: boolean): readonly object[] {
  const common = commonOf(answered, 'chat.completion.chunk')
  const chunk = (delta: object, finish: string | null) => ({
    ...common,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage && { usage: null }),
  })
  const pieces = answered.inference.output.match(pieceOf) ?? []
  return [
    chunk({ role: 'assistant', content: '' }, null),
    ...pieces.map((content) => chunk({ content }, null)),
    { ...chunk({}, 'stop'), ...proofOf(answered.inference) },
    ...(includeUsage ? [{ ...common, choices: [], usage: null }] : []),
  ]
}

const pieceOf = new RegExp(`.{1,${maxPieceChars}}`, 'gsu')

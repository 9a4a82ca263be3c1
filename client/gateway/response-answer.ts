import { type Answered, proofOf, saidIn, usageOf } from './answered.ts'
import type { ResponseRequest } from './response-request.ts'

/** The job of a response, and when it was asked for (Unix seconds). */
export type ResponseJob = {
  readonly jobId: string
  readonly model: string
  readonly created: number
}

/** A response without its outcome. */
export const responseOf = ({ jobId, model, created }: ResponseJob, { given }: ResponseRequest) => ({
  id: `resp_${jobId.slice(2, 34)}`,
  object: 'response' as const,
  created_at: created,
  status: 'in_progress',
  background: false,
  error: null,
  incomplete_details: null,
  instructions: given.instructions ?? null,
  max_output_tokens: given.max_output_tokens ?? null,
  model,
  output: [] as readonly OutputItem[],
  parallel_tool_calls: true,
  previous_response_id: null,
  reasoning: { effort: null, summary: null },
  store: false,
  temperature: null,
  text: { format: given.text?.format ?? { type: 'text' } },
  tool_choice: given.tool_choice ?? 'auto',
  tools: given.tools,
  top_p: null,
  truncation: 'disabled',
  usage: null,
  metadata: {},
})

/** One item of what an answer says. */
export type OutputItem = ReturnType<typeof itemsOf>[number]

/** The items of an answer: its message, or its calls. */
export function itemsOf(answered: Answered) {
  const { content, calls, isCut } = saidIn(answered)
  const status = isCut ? ('incomplete' as const) : ('completed' as const)
  const job = answered.inference.jobId.slice(2, 26)
  const message = {
    type: 'message' as const,
    id: `msg_${job}`,
    status,
    role: 'assistant' as const,
    content: [outputText(content ?? '')],
  }
  const called = calls.map(({ id, name, arguments: written }, at) => ({
    type: 'function_call' as const,
    id: `fc_${job}_${at}`,
    status,
    call_id: id,
    name,
    arguments: written,
  }))
  return content === null ? called : [message]
}

/** The part of a message that is its text. */
export const outputText = (text: string) => ({
  type: 'output_text' as const,
  text,
  annotations: [],
  logprobs: [],
})

/** An answer as one response. */
export function completedOf(answered: Answered, asked: ResponseRequest) {
  const { jobId, model } = answered.inference
  const { isCut } = saidIn(answered)
  const tokens = usageOf(answered)
  return {
    ...responseOf({ jobId, model, created: answered.created }, asked),
    status: isCut ? 'incomplete' : 'completed',
    incomplete_details: isCut ? { reason: 'max_output_tokens' } : null,
    output: itemsOf(answered),
    usage: {
      input_tokens: tokens.asked,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens: tokens.answered,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: tokens.total,
    },
    ...proofOf(answered),
  }
}

import type { Interface } from './answer-request.ts'
import { type Answered, piecesOf, proofOf, saidIn, usageOf } from './answered.ts'
import { eventOf } from './event-stream.ts'
import { streamedError } from './openai-error.ts'
import { type ResponseRequest, readResponseRequest } from './response-request.ts'

/** `POST /v1/responses`. */
export const responses: Interface<ResponseRequest> = {
  read: readResponseRequest,
  whole: completedOf,
  stream: (asked, about) => {
    const write = createWriter()
    let begun: object | undefined
    const begin = (jobId: string): string => {
      const response = responseOf({ jobId, ...about }, asked)
      const created = begun ? '' : write('response.created', { response })
      begun = response
      return created + write('response.in_progress', { response })
    }
    return {
      // Some agents count events alone, and give up after minutes without one.
      alive: begin,
      answer: (answered) => {
        const began = begun ? '' : begin(answered.inference.jobId)
        return began + eventsOf(write, answered, asked)
      },
      failure: (failure) => {
        const error = streamedError(failure)
        const { code, message, param } = error
        const response = begun ?? responseOf({ jobId: '', ...about }, asked)
        const failed = { ...response, status: 'failed', error: { code, message } }
        // OpenAI documents the members, but sends `error`, without which the client in Python throws nothing. Codex reads only the second event.
        return (
          write('error', { code, message, param, error }) +
          write('response.failed', { response: failed })
        )
      },
    }
  },
}

type Write = (type: string, members: object) => string

/** Writes events in their order, each with its number. */
function createWriter(): Write {
  let next = 0
  return (type, members) => {
    const text = eventOf({ type, sequence_number: next, ...members }, type)
    next += 1
    return text
  }
}

function eventsOf(write: Write, answered: Answered, asked: ResponseRequest): string {
  const items = itemsOf(answered).map((item, index) => itemEvents(write, item, index))
  const response = completedOf(answered, asked)
  return items.join('') + write(`response.${response.status}`, { response })
}

function itemEvents(write: Write, item: OutputItem, output_index: number): string {
  const at = { item_id: item.id, output_index }
  const status = 'in_progress'
  if (item.type === 'function_call') {
    const name = 'response.function_call_arguments'
    return [
      write('response.output_item.added', {
        output_index,
        item: { ...item, status, arguments: '' },
      }),
      ...piecesOf(item.arguments).map((delta) => write(`${name}.delta`, { ...at, delta })),
      write(`${name}.done`, { ...at, name: item.name, arguments: item.arguments }),
      write('response.output_item.done', { output_index, item }),
    ].join('')
  }
  const text = item.content.map((part) => part.text).join('')
  const part = { ...at, content_index: 0 }
  const name = 'response.output_text'
  return [
    write('response.output_item.added', { output_index, item: { ...item, status, content: [] } }),
    write('response.content_part.added', { ...part, part: outputText('') }),
    ...piecesOf(text).map((delta) => write(`${name}.delta`, { ...part, delta, logprobs: [] })),
    write(`${name}.done`, { ...part, text, logprobs: [] }),
    write('response.content_part.done', { ...part, part: outputText(text) }),
    write('response.output_item.done', { output_index, item }),
  ].join('')
}

/** The job of a response, and when it was asked for (Unix seconds). */
type ResponseJob = {
  readonly jobId: string
  readonly model: string
  readonly created: number
}

/** A response without its outcome. */
const responseOf = ({ jobId, model, created }: ResponseJob, { given }: ResponseRequest) => ({
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
  parallel_tool_calls: given.parallel_tool_calls ?? true,
  previous_response_id: null,
  reasoning: { effort: given.reasoning?.effort ?? null, summary: null },
  store: false,
  temperature: null,
  text: { format: given.text?.format ?? { type: 'text' } },
  tool_choice: given.tool_choice ?? 'auto',
  tools: given.tools,
  top_p: null,
  truncation: 'disabled',
  usage: null,
  metadata: given.metadata ?? {},
})

/** One item of what an answer says. */
type OutputItem = ReturnType<typeof itemsOf>[number]

/** The items of an answer: its message, or its calls. */
function itemsOf(answered: Answered) {
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
const outputText = (text: string) => ({
  type: 'output_text' as const,
  text,
  annotations: [],
  logprobs: [],
})

/** An answer as one response. */
function completedOf(answered: Answered, asked: ResponseRequest) {
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

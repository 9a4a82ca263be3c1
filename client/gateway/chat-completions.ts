import type { Interface } from './answer-request.ts'
import { type Answered, piecesOf, proofOf, saidIn, usageOf } from './answered.ts'
import { type ChatRequest, readChatRequest } from './chat-request.ts'
import { eventOf } from './event-stream.ts'
import { streamedError } from './openai-error.ts'

const done = 'data: [DONE]\n\n'

/** `POST /v1/chat/completions`. */
export const chatCompletions: Interface<ChatRequest> = {
  read: readChatRequest,
  whole: completionOf,
  stream: ({ includeUsage }) => ({
    alive: () => '',
    answer: (answered) =>
      chunksOf(answered, includeUsage)
        .map((chunk) => eventOf(chunk))
        .join('') + done,
    failure: (error) => eventOf({ error: streamedError(error) }),
  }),
}

const commonOf = ({ inference, created }: Answered, object: string) => ({
  id: `chatcmpl-${inference.jobId.slice(2, 34)}`,
  object,
  created,
  model: inference.model,
})

const tokensOf = (answered: Answered) => {
  const { asked, answered: said, total } = usageOf(answered)
  return { prompt_tokens: asked, completion_tokens: said, total_tokens: total }
}

/** An answer as one completion. */
function completionOf(answered: Answered) {
  const { content, calls } = saidIn(answered)
  const toolCalls = calls.map(({ id, ...called }) => ({
    id,
    type: 'function' as const,
    function: called,
  }))
  return {
    ...commonOf(answered, 'chat.completion'),
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content,
          refusal: null,
          ...(calls.length > 0 && { tool_calls: toolCalls }),
        },
        logprobs: null,
        finish_reason: answered.inference.ended,
      },
    ],
    usage: tokensOf(answered),
    ...proofOf(answered),
  }
}

/** An answer as the chunks of a stream: the role, the text in pieces, the end, and the usage if it was asked for. */
function chunksOf(answered: Answered, includeUsage: boolean): readonly object[] {
  const common = commonOf(answered, 'chat.completion.chunk')
  const chunk = (delta: object, finish: string | null) => ({
    ...common,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
    ...(includeUsage && { usage: null }),
  })
  const { content, calls } = saidIn(answered)
  return [
    chunk({ role: 'assistant', content: content === null ? null : '' }, null),
    ...piecesOf(content ?? '').map((piece) => chunk({ content: piece }, null)),
    ...calls.flatMap(({ id, name, arguments: written }, index) => [
      chunk(
        { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
        null,
      ),
      ...piecesOf(written).map((piece) =>
        chunk({ tool_calls: [{ index, function: { arguments: piece } }] }, null),
      ),
    ]),
    { ...chunk({}, answered.inference.ended), ...proofOf(answered) },
    ...(includeUsage ? [{ ...common, choices: [], usage: tokensOf(answered) }] : []),
  ]
}

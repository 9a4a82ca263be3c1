import type { Interface } from './answer-request.ts'
import { chunksOf, completionOf } from './chat-answer.ts'
import { type ChatRequest, readChatRequest } from './chat-request.ts'
import { eventOf } from './event-stream.ts'
import { errorBody } from './openai-error.ts'

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
    failure: (error) => eventOf(errorBody(error)),
  }),
}

import { type AcceptedInference, inferenceError } from '../../lib/client/inference.ts'
import { unixSeconds } from '../../lib/clock.ts'
import { type Answered, chunksOf, completionOf, proofHeaders } from './chat-answer.ts'
import { type ChatRequest, readChatRequest } from './chat-request.ts'
import { earlyStreamOf, streamOf } from './event-stream.ts'
import { explainFailure } from './explain-failure.ts'
import type { GatewayOptions } from './gateway.ts'
import { resolveModel } from './model-names.ts'
import { badRequest, OpenAiError } from './openai-error.ts'
import type { Semaphore } from './semaphore.ts'
import type { StoreAhead } from './store-ahead.ts'

/** What is told of a request once it is over; never what was asked or answered. */
export type ChatNews = {
  model?: string
  jobId?: string
  error?: unknown
  /** When a stream that began without its answer has it, or has failed; never rejects. */
  ended?: Promise<void>
}

/** Answers one request for a completion, through a job of its own. */
export async function completeChat(
  options: GatewayOptions,
  semaphore: Semaphore,
  ahead: StoreAhead | undefined,
  request: Request,
  news: ChatNews,
): Promise<Response> {
  const chat = readChatRequest(await readJson(request), options)
  const model = await resolveModel(chat.model, options.modelMap, options.client.models)
  news.model = model
  const left = new AbortController()
  const signal = AbortSignal.any([request.signal, options.stopping, left.signal])
  const answered = semaphore
    .run(signal, async () => {
      const one = await answerOf(options, chat, model, signal, news)
      ahead?.after(model)
      return one
    })
    .catch((error: unknown) => {
      throw options.stopping.aborted && error === options.stopping.reason ? stopped() : error
    })
  const more = { ...(chat.ignored.length > 0 && { 'x-svc-ignored': chat.ignored.join(', ') }) }
  if (chat.stream && options.keepAliveMs !== undefined) {
    const chunks = answered.then((one) => chunksOf(one, chat.includeUsage))
    news.ended = chunks.then(
      () => {},
      (error: unknown) => {
        news.error = error
      },
    )
    return earlyStreamOf(chunks, {
      clock: options.clock,
      keepAliveMs: options.keepAliveMs,
      more,
      onLeave: () => left.abort(new DOMException('The caller has left', 'AbortError')),
      explain: explainFailure,
    })
  }
  const one = await answered
  const headers = { ...more, ...proofHeaders(one.inference) }
  return chat.stream
    ? streamOf(chunksOf(one, chat.includeUsage), headers)
    : Response.json(completionOf(one), { headers })
}

async function answerOf(
  { client, clock, agreement, giveUpWhenStuckMs }: GatewayOptions,
  { prompt, maxOutputTokens }: ChatRequest,
  model: string,
  signal: AbortSignal,
  news: ChatNews,
): Promise<Answered> {
  const inference = await client.infer(prompt, {
    model,
    ...agreement,
    signal,
    giveUpWhenStuckMs,
    ...(maxOutputTokens !== undefined && { parameters: { max_output_tokens: maxOutputTokens } }),
    onSubmitted: ({ jobId }) => {
      news.jobId = jobId
    },
  })
  return { inference: accepted(inference), created: unixSeconds(clock) }
}

function accepted(inference: Parameters<typeof inferenceError>[0] | AcceptedInference) {
  if (inference.status === 'accepted') return inference
  throw inferenceError(inference)
}

const stopped = (): OpenAiError =>
  new OpenAiError(503, 'server_error', 'The gateway was stopped, and the job cancelled', {
    code: 'gateway_stopped',
  })

async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  // A form of a web page can be sent anywhere unasked; JSON cannot.
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw badRequest('content-type must be application/json', undefined, 'unsupported_media_type')
  }
  try {
    return await request.json()
  } catch {
    throw badRequest('The body is not JSON', undefined, 'invalid_json')
  }
}

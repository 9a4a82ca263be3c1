import { PromptNotTakenError } from '../../lib/client/choose-terms.ts'
import type { PoolComparison } from '../../lib/client/compare-pool.ts'
import { type AcceptedInference, inferenceError } from '../../lib/client/inference.ts'
import { unixSeconds } from '../../lib/clock.ts'
import { utf8 } from '../../lib/digest.ts'
import { writePrompt } from '../../lib/prompt.ts'
import type { PromptDocument, PromptMessage } from '../../lib/schemas/prompt.ts'
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
  for (const name of chat.ignored) options.onIgnored(name)
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
      more: ignoredHeader(chat.ignored),
      onLeave: () => left.abort(new DOMException('The caller has left', 'AbortError')),
      explain: explainFailure,
    })
  }
  const one = await answered
  const headers = { ...ignoredHeader(one.ignored), ...proofHeaders(one) }
  return chat.stream
    ? streamOf(chunksOf(one, chat.includeUsage), headers)
    : Response.json(completionOf(one), { headers })
}

async function answerOf(
  options: GatewayOptions,
  { prompt: asked, maxOutputTokens, ignored }: ChatRequest,
  model: string,
  signal: AbortSignal,
  news: ChatNews,
): Promise<Answered> {
  const { client, clock, agreement, giveUpWhenStuckMs, isStrict } = options
  let pool: PoolComparison | undefined
  const run = (prompt: PromptDocument) =>
    client.infer(prompt, {
      model,
      ...agreement,
      signal,
      giveUpWhenStuckMs,
      ...(maxOutputTokens !== undefined && { parameters: { max_output_tokens: maxOutputTokens } }),
      onPool: (compared) => {
        pool = compared
      },
      onSubmitted: ({ jobId }) => {
        news.jobId = jobId
      },
    })
  let prompt = asked
  let left: readonly string[] = []
  const inference = await run(prompt).catch((error: unknown) => {
    const lacking = error instanceof PromptNotTakenError ? error.lacking : []
    if (isStrict || lacking.length === 0 || !lacking.every(isOptional)) throw error
    // Nothing was paid yet: the terms could not be made.
    prompt = withoutParts(prompt, lacking)
    left = lacking
    for (const name of left) options.onIgnored(`${name} (of ${model})`)
    return run(prompt)
  })
  return {
    inference: accepted(inference),
    created: unixSeconds(clock),
    pool,
    promptBytes: utf8(writePrompt(prompt)).length,
    ignored: [...ignored, ...left],
  }
}

const optionalParts: readonly string[] = ['names', 'seed', 'stop']
const isOptional = (part: string): boolean => optionalParts.includes(part)

/** A prompt without parts that a model does not take; the question stays the same. */
function withoutParts(prompt: PromptDocument, parts: readonly string[]): PromptDocument {
  const { seed, stop, messages, ...rest } = prompt
  const unnamed = (message: PromptMessage): PromptMessage => {
    if (message.role === 'tool') return message
    const { name: _, ...said } = message
    return said
  }
  return {
    ...rest,
    messages: parts.includes('names') ? messages.map(unnamed) : messages,
    ...(stop && !parts.includes('stop') && { stop }),
    ...(seed !== undefined && !parts.includes('seed') && { seed }),
  }
}

const ignoredHeader = (ignored: readonly string[]): Record<string, string> =>
  ignored.length === 0 ? {} : { 'x-svc-ignored': headerText(ignored.join(', ')) }

// Names are the caller's, and headers take printable ASCII only.
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 1_000)

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

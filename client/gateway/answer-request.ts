import { PromptNotTakenError } from '../../lib/client/choose-terms.ts'
import type { PoolComparison } from '../../lib/client/compare-pool.ts'
import {
  type AcceptedInference,
  type Inference,
  inferenceError,
  UncommittedError,
} from '../../lib/client/inference.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { utf8 } from '../../lib/digest.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { writePrompt } from '../../lib/prompt.ts'
import { readLimited } from '../../lib/read-limited.ts'
import type { PromptDocument, PromptMessage } from '../../lib/schemas/prompt.ts'
import { type Answered, proofHeaders } from './answered.ts'
import { earlyStreamOf, isInTime, streamOf } from './event-stream.ts'
import { explainFailure } from './explain-failure.ts'
import type { GatewayOptions, RequestNews } from './gateway-options.ts'
import { resolveModel } from './model-names.ts'
import { badRequest, OpenAiError } from './openai-error.ts'
import { createProgress, type Progress } from './progress.ts'
import type { ReadingOptions } from './read-request.ts'
import type { Semaphore } from './semaphore.ts'
import type { StoreAhead } from './store-ahead.ts'

/** A request for an answer, through any interface. */
export type Asked = {
  readonly model: string
  readonly prompt: PromptDocument
  readonly stream: boolean
  readonly maxOutputTokens: number | undefined
  /** Parameters without effect, and members of others, such as `messages[0].cache_control`. */
  readonly ignored: readonly string[]
}

/** One of the interfaces: how its requests are read and its answers are written. */
export type Interface<A extends Asked> = {
  /** Throws OpenAiError 400. */
  readonly read: (body: unknown, reading: ReadingOptions) => A
  readonly whole: (answered: Answered, asked: A) => object
  /** Writes the events of one stream. */
  readonly stream: (
    asked: A,
    about: Pick<Answered, 'created'> & Pick<AcceptedInference, 'model'>,
  ) => {
    /** Events while the job runs; may be empty. */
    readonly alive: (jobId: JobId) => string
    readonly answer: (answered: Answered) => string
    readonly failure: (error: OpenAiError) => string
  }
}

/** What requests share. */
export type AnsweringContext = {
  readonly options: GatewayOptions
  readonly semaphore: Semaphore
  readonly ahead: StoreAhead | undefined
}

// It ends sooner when the caller leaves.
const collectTimeoutMs = 1_800_000

type Run = {
  readonly options: GatewayOptions
  readonly asked: Asked
  readonly model: string
  readonly created: number
  /** The parts that the model does not take are added. */
  readonly ignored: string[]
  readonly progress: Progress
  readonly signal: AbortSignal
  readonly news: RequestNews
}

/** Answers one request through a job of its own. */
export async function answerRequest<A extends Asked>(
  { options, semaphore, ahead }: AnsweringContext,
  { read, whole, stream }: Interface<A>,
  request: Request,
  news: RequestNews,
): Promise<Response> {
  const { clock, stopping, client, keepAliveMs } = options
  const asked = read(await readJson(request), options)
  const model = await resolveModel(asked.model, options.modelMap, client.models)
  news.model = model
  const left = new AbortController()
  const signal = AbortSignal.any([request.signal, stopping, left.signal])
  const progress = createProgress(clock)
  const created = unixSeconds(clock)
  const ignored = [...asked.ignored]
  const answered = semaphore
    .run(signal, async () => {
      const one = await answerOf({
        options,
        asked,
        model,
        created,
        ignored,
        progress,
        signal,
        news,
      })
      ahead?.(model)
      return one
    })
    .catch((error: unknown) => {
      if (stopping.aborted && error === stopping.reason) throw stopped()
      // Node's adapter aborts with a text, which Hono throws on instead of answering.
      throw error instanceof Error ? error : callerLeft()
    })
  for (const name of asked.ignored) options.onIgnored(name)
  const early = keepAliveMs !== undefined && { clock, keepAliveMs, progress }
  if (asked.stream && early && !(await isInTime(answered, early))) {
    const { alive, answer, failure } = stream(asked, { model, created })
    const events = answered.then(answer)
    news.ended = events.then(
      () => {},
      (error: unknown) => {
        news.error = error
      },
    )
    const jobId = progress.jobId()
    return earlyStreamOf(events, {
      ...early,
      more: { ...ignoredHeader(ignored), ...(jobId && { 'x-svc-job-id': jobId }) },
      alive: () => {
        const jobId = progress.jobId()
        return jobId === undefined ? '' : alive(jobId)
      },
      failure: (error) => failure(explainFailure(error, new URL(request.url).pathname)),
      onLeave: () => left.abort(callerLeft()),
    })
  }
  const one = await answered
  const headers = { ...ignoredHeader(one.ignored), ...proofHeaders(one) }
  return asked.stream
    ? streamOf(stream(asked, { model, created }).answer(one), headers)
    : Response.json(whole(one, asked), { headers })
}

async function answerOf(run: Run): Promise<Answered> {
  const { options, asked, model, created, ignored, progress, signal, news } = run
  const { client, agreement, giveUpWhenStuckMs, isStrict } = options
  const { maxOutputTokens } = asked
  let pool: PoolComparison | undefined
  const infer = (prompt: PromptDocument) =>
    client.infer(prompt, {
      model,
      ...agreement,
      signal,
      giveUpWhenStuckMs,
      collectTimeoutMs,
      ...(maxOutputTokens !== undefined && { parameters: { max_output_tokens: maxOutputTokens } }),
      onStep: progress.onStep,
      onPool: (compared) => {
        pool = compared
      },
      onSubmitted: (job) => {
        news.jobId = job.jobId
        progress.onSubmitted(job)
      },
    })
  let prompt = asked.prompt
  const inferred = infer(prompt).catch((error: unknown) => {
    const lacking = error instanceof PromptNotTakenError ? error.lacking : []
    if (isStrict || lacking.length === 0 || !lacking.every(isOptional)) throw error
    // Nothing is paid before the terms exist.
    prompt = withoutParts(prompt, lacking)
    ignored.push(...lacking)
    for (const name of lacking) options.onIgnored(`${name} (of ${model})`)
    return infer(prompt)
  })
  const shown = await inferred.then(accepted, uncommitted)
  if (shown.unseen) news.unseen = shown.unseen.message
  return {
    ...shown,
    created,
    pool,
    promptBytes: utf8(writePrompt(prompt)).length,
    ignored,
  }
}

const optionalFields = ['parallel_tool_calls', 'reasoning_effort', 'seed', 'stop'] as const
const optionalParts: readonly string[] = ['names', ...optionalFields]
const isOptional = (part: string): boolean => optionalParts.includes(part)

/** Removes parts that a model does not take and that do not change the question. */
function withoutParts(prompt: PromptDocument, parts: readonly string[]): PromptDocument {
  const unnamed = (message: PromptMessage): PromptMessage => {
    if (message.role === 'tool') return message
    const { name: _, ...said } = message
    return said
  }
  const kept = { ...prompt }
  for (const field of optionalFields) if (parts.includes(field)) delete kept[field]
  return parts.includes('names') ? { ...kept, messages: prompt.messages.map(unnamed) } : kept
}

const ignoredHeader = (ignored: readonly string[]): Record<string, string> =>
  ignored.length === 0 ? {} : { 'x-svc-ignored': headerText(ignored.join(', ')) }

// Callers choose the names, and headers take only printable ASCII.
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]/g, '?').slice(0, 1_000)

function accepted(inference: Inference): Pick<Answered, 'inference' | 'unseen'> {
  if (inference.status === 'accepted') return { inference, unseen: undefined }
  throw inferenceError(inference)
}

/** An answer that was not seen on chain is paid for and checked, so it is returned with the reason. */
function uncommitted(error: unknown): Pick<Answered, 'inference' | 'unseen'> {
  if (error instanceof UncommittedError) return { inference: error.inference, unseen: error }
  throw error
}

const callerLeft = (): DOMException => new DOMException('The caller has left', 'AbortError')

const stopped = (): OpenAiError =>
  new OpenAiError(503, 'server_error', 'The gateway was stopped, and the job cancelled', {
    code: 'gateway_stopped',
  })

async function readJson(request: Request): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  // Web pages can send forms to any address without permission, but not JSON.
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw badRequest('content-type must be application/json', undefined, 'unsupported_media_type')
  }
  const encoding = request.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity') {
    const why = 'The body is compressed, which is not supported: send it without content-encoding'
    throw badRequest(why, undefined, 'unsupported_content_encoding')
  }
  const json = parseJson(await readBody(request))
  if (json === undefined) throw badRequest('The body is not JSON', undefined, 'invalid_json')
  return json
}

// A prompt of 1 MiB, whose characters JSON may escape.
const maxBodyBytes = 4_194_304

/** Makes no other request of this one, as Hono's limit does: Node's adapter has requests that the runtime's own do not take. */
async function readBody(request: Request): Promise<Uint8Array> {
  const isTooLarge = Number(request.headers.get('content-length') ?? 0) > maxBodyBytes
  const reading = isTooLarge ? undefined : readLimited(request, maxBodyBytes)
  const bytes = await reading?.catch(() => {
    throw badRequest('The body did not arrive whole', undefined, 'invalid_json')
  })
  if (bytes) return bytes
  throw new OpenAiError(413, 'invalid_request_error', 'The body is larger than 4 MiB', {
    code: 'request_too_large',
  })
}

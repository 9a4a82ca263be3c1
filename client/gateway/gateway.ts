import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import type { TermsOptions } from '../../lib/client/choose-terms.ts'
import type { Client } from '../../lib/client/client.ts'
import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { answerRequest, type RequestNews } from './answer-request.ts'
import { chatCompletions } from './chat-completions.ts'
import { explainFailure } from './explain-failure.ts'
import { checkCaller, corsHeaders, type GuardOptions } from './guard.ts'
import { findModel, listModels, type ModelMap } from './model-names.ts'
import { errorResponse, OpenAiError } from './openai-error.ts'
import { responses } from './responses.ts'
import { createSemaphore } from './semaphore.ts'
import { createStoreAhead } from './store-ahead.ts'

// A prompt of 1 MiB, whose characters JSON may escape.
const maxBodyBytes = 4_194_304
const callerLeft = 499
const maxIgnoredTold = 100

type Heard = { Variables: { news: RequestNews } }

/** What a gateway is made of. */
export type GatewayOptions = GuardOptions & {
  readonly client: Pick<Client, 'infer' | 'models' | 'storeKeyAhead' | 'keysAhead'>
  readonly clock: Clock
  readonly modelMap: ModelMap
  /** How many answers of a job have to match. */
  readonly agreement: Pick<TermsOptions, 'rule' | 'minMatches'>
  /** How many jobs run at once, and how many requests may wait for one to end. */
  readonly atOnce: number
  readonly maxWaiting: number
  /** Refuses what the service cannot honour, in place of ignoring it. */
  readonly isStrict: boolean
  /** Told once of each parameter that was ignored. */
  readonly onIgnored: (parameter: string) => void
  /** Begins streams when their job is submitted, or after this long, and sends comments this often; they begin with their answer when it is left out. */
  readonly keepAliveMs?: number | undefined
  /** Stores keys ahead, and is told of each that is stored or has failed; none are stored when it is left out. */
  readonly storeAhead?: ((model: string, error?: unknown) => void) | undefined
  /** Cancels a job when a lack of nodes lasts this long. */
  readonly giveUpWhenStuckMs: number
  /** Told of each request once, when it is over: when it is answered, or when a stream that began early has its answer or has failed. */
  readonly onAnswered: (news: Answer) => void
  /** Cancels what is under way when it aborts. */
  readonly stopping: AbortSignal
}

/** A request that was answered, as it may stand in a log. */
export type Answer = Omit<RequestNews, 'ended'> & {
  readonly method: string
  readonly path: string
  readonly status: number
  readonly elapsedMs: number
}

const unknownUrl = (method: string, path: string): OpenAiError =>
  new OpenAiError(
    404,
    'invalid_request_error',
    `There is no ${method} ${path} here; there are GET /health, GET /v1/models, POST /v1/chat/completions and POST /v1/responses`,
    {
      code: 'unknown_url',
    },
  )

const tooLarge = (): OpenAiError =>
  new OpenAiError(413, 'invalid_request_error', 'The body is larger than 4 MiB', {
    code: 'request_too_large',
  })

/** OpenAI's interface to a client of the service: every answer was agreed on by a quorum, decrypted and checked on this machine. */
export function createGateway(options: GatewayOptions): Hono<Heard> {
  const { client, clock, modelMap, onAnswered } = options
  const semaphore = createSemaphore(options.atOnce, options.maxWaiting)
  const ahead = options.storeAhead && createStoreAhead(options, options.storeAhead)
  const app = new Hono<Heard>()
  const ignored = new Set<string>()
  const onIgnored = (parameter: string) => {
    // The caller's own names are no way to fill the memory.
    if (ignored.has(parameter) || ignored.size >= maxIgnoredTold) return
    ignored.add(parameter)
    options.onIgnored(parameter)
  }

  // Before all else: a probe has no key and needs no line in the log.
  app.get('/health', (c) => c.json({ status: 'ok' }))
  app.use(async (c, next) => {
    const began = clock.monotonic()
    const { raw, method } = c.req
    const heard: RequestNews = {}
    c.set('news', heard)
    await next()
    for (const [name, value] of Object.entries(corsHeaders(raw, options))) c.header(name, value)
    const path = c.req.path.slice(0, 200)
    const { status: sent } = c.res
    const tell = () => {
      const { ended: _, ...news } = heard
      // Nobody hears what is answered to a caller who has left.
      const status = raw.signal.aborted ? callerLeft : sent
      onAnswered({ ...news, method, path, status, elapsedMs: elapsedSince(clock, began) })
    }
    if (heard.ended) void heard.ended.then(tell)
    else tell()
  })
  app.use(async (c, next) => {
    const caller = checkCaller(c.req.raw, options)
    if (caller !== undefined) c.get('news').caller = caller
    if (c.req.method === 'OPTIONS') return c.body(null, 204)
    await next()
  })
  const limit = bodyLimit({ maxSize: maxBodyBytes, onError: () => errorResponse(tooLarge()) })
  const served = () => client.models()

  app.get('/v1/models', async (c) => c.json(listModels(await served(), modelMap)))
  app.get('/v1/models/:id{.+}', async (c) =>
    c.json(findModel(await served(), modelMap, c.req.param('id'))),
  )
  const context = { options: { ...options, onIgnored }, semaphore, ahead }
  app.post('/v1/chat/completions', limit, (c) =>
    answerRequest(context, chatCompletions, c.req.raw, c.get('news')),
  )
  app.post('/v1/responses', limit, (c) =>
    answerRequest(context, responses, c.req.raw, c.get('news')),
  )
  app.notFound((c) => errorResponse(unknownUrl(c.req.method, c.req.path.slice(0, 200))))
  app.onError((error, c) => {
    c.get('news').error = error
    return errorResponse(explainFailure(error))
  })
  return app
}

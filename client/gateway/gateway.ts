import { Hono, type HonoRequest } from 'hono'
import { elapsedSince } from '../../lib/clock.ts'
import { answerRequest } from './answer-request.ts'
import { anthropicError, checkVersion, speaksAnthropic } from './anthropic-error.ts'
import { chatCompletions } from './chat-completions.ts'
import { explainFailure } from './explain-failure.ts'
import type { GatewayOptions, RequestNews } from './gateway-options.ts'
import { checkCaller, corsHeaders } from './guard.ts'
import { messages } from './messages.ts'
import { describeModel, describeModels, findModel, listModels } from './model-names.ts'
import { errorResponse, OpenAiError } from './openai-error.ts'
import { responses } from './responses.ts'
import { createSemaphore } from './semaphore.ts'
import { createStoreAhead } from './store-ahead.ts'

const callerLeft = 499
const maxIgnoredTold = 100

type Heard = { Variables: { news: RequestNews } }

const unknownUrl = (method: string, path: string): OpenAiError =>
  new OpenAiError(
    404,
    'invalid_request_error',
    `There is no ${method} ${path} here. There are GET /health, GET /v1/models, POST /v1/chat/completions, POST /v1/responses and POST /v1/messages`,
    {
      code: 'unknown_url',
    },
  )

/** OpenAI's and Anthropic's interfaces to a client of the service: every answer was agreed on by a quorum, decrypted and checked on this machine. */
export function createGateway(options: GatewayOptions): Hono<Heard> {
  const { client, clock, modelMap, onAnswered } = options
  const semaphore = createSemaphore(options.atOnce, options.maxWaiting)
  const ahead = options.storeAhead && createStoreAhead(options, options.storeAhead)
  // Some clients end paths in a slash.
  const app = new Hono<Heard>({ strict: false })
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
    checkVersion(c.req.raw)
    await next()
  })
  const served = () => client.models()

  app.get('/v1/models', async (c) => {
    const list = listModels(await served(), modelMap)
    return c.json(speaksAnthropic(c.req) ? describeModels(list) : list)
  })
  app.get('/v1/models/:id{.+}', async (c) => {
    const model = findModel(await served(), modelMap, c.req.param('id'))
    return c.json(speaksAnthropic(c.req) ? describeModel(model) : model)
  })
  const context = { options: { ...options, onIgnored }, semaphore, ahead }
  app.post('/v1/chat/completions', (c) =>
    answerRequest(context, chatCompletions, c.req.raw, c.get('news')),
  )
  app.post('/v1/responses', (c) => answerRequest(context, responses, c.req.raw, c.get('news')))
  app.post('/v1/messages', (c) => answerRequest(context, messages, c.req.raw, c.get('news')))
  const refuse = (request: HonoRequest, error: OpenAiError) =>
    errorResponse(error, speaksAnthropic(request) ? anthropicError(error) : undefined)
  app.notFound((c) => refuse(c.req, unknownUrl(c.req.method, c.req.path.slice(0, 200))))
  app.onError((error, c) => {
    c.get('news').error = error
    return refuse(c.req, explainFailure(error, c.req.path))
  })
  return app
}

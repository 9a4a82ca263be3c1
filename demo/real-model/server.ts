/*
 * Problem: nodes need a server of OpenAI's protocol that runs a real model and tells how likely a given text is.
 * Idea: one model in this process, one request at a time, the others wait in a bounded queue.
 * Invariants: a field of an answer that the model cannot honour is refused with status 400. Fields that only say how a given text is read
 * are taken, since it is always read in one way. Decoding is greedy, so only temperature 0 is taken.
 * Failure cases: a prompt beyond the context gets 400 `context_length_exceeded`, a full queue 503. A client that leaves ends its request.
 */

import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { errorMessage } from '../../lib/error-message.ts'
import { option, WholeNumber } from '../../lib/host/program/option.ts'
import { runOnly } from '../../lib/host/program/run-program.ts'
import { type Answered, ContextExceeded, loadModel, type RealModel } from './model.ts'

const Message = z.strictObject({
  role: z.enum(['system', 'user', 'assistant']),
  content: z.string().max(1_000_000),
})

const Ask = z.strictObject({
  model: z.string(),
  messages: z.array(Message).min(1).max(1_000),
  max_tokens: z.int().min(1).max(1_000_000).optional(),
  max_completion_tokens: z.int().min(1).max(1_000_000).optional(),
  temperature: z.literal(0).optional(),
  seed: z.int().optional(),
  n: z.literal(1).optional(),
  stream: z.boolean().optional(),
  stream_options: z.strictObject({ include_usage: z.boolean().optional() }).optional(),
  // vLLM's way to ask for the log-probabilities of the last message. It always gets five likeliest tokens.
  prompt_logprobs: z.int().min(1).max(5).optional(),
  return_token_ids: z.boolean().optional(),
  add_generation_prompt: z.literal(false).optional(),
  continue_final_message: z.literal(true).optional(),
})
type Ask = z.output<typeof Ask>

const usualTokens = 256
const longestQueue = 32
const deadlineMs = 600_000
const maxBodyBytes = 4_194_304

/** A failure that the client gets. */
class Refused extends Error {
  readonly status: number
  readonly details: object

  constructor(status: number, message: string, details: object = {}) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** Returns what runs tasks one after another, and refuses those that would be too many in its queue. */
function createQueue(longest: number): <T>(task: () => Promise<T>) => Promise<T> {
  let waiting = 0
  let last: Promise<unknown> = Promise.resolve()
  return async (task) => {
    if (waiting >= longest) throw new Refused(503, 'Too many requests wait. Try again later')
    waiting++
    const own = last.then(task).finally(() => waiting--)
    last = own.catch(() => {})
    return await own
  }
}

const mostRemembered = 8

/** Serves a model under a name: `/v1/models` and `/v1/chat/completions`. */
export function createServer(
  model: RealModel,
  name: string,
  longest = longestQueue,
): (request: Request) => Promise<Response> {
  const inTurn = createQueue(longest)
  const remembering = rememberLast(model)
  return async (request) => {
    try {
      const { pathname } = new URL(request.url)
      if (request.method === 'GET' && pathname === '/v1/models') {
        return Response.json({ object: 'list', data: [{ id: name, object: 'model' }] })
      }
      if (request.method !== 'POST' || pathname !== '/v1/chat/completions') {
        throw new Refused(404, `There is nothing at ${request.method} ${pathname}`)
      }
      const ask = parsed(await request.json().catch(() => undefined))
      if (ask.model !== name) {
        throw new Refused(404, `There is no model ${ask.model}`, { code: 'model_not_found' })
      }
      const gone = new AbortController()
      const deadline = AbortSignal.timeout(deadlineMs)
      const signal = AbortSignal.any([request.signal, gone.signal, deadline])
      if (ask.prompt_logprobs !== undefined) {
        return Response.json(await inTurn(() => weighed(remembering, ask, signal)))
      }
      const answer = (onText?: (piece: string) => void) =>
        inTurn(() => {
          signal.throwIfAborted()
          const { max_tokens, max_completion_tokens: maxTokens = max_tokens ?? usualTokens } = ask
          return model.answer(ask.messages, { maxTokens, signal, ...(onText && { onText }) })
        })
      return ask.stream
        ? await streamed(ask, answer, gone)
        : Response.json(whole(ask, await answer()))
    } catch (error) {
      return failure(error)
    }
  }
}

/** The model with its last few weights kept: the nodes of a job ask for the same texts, and one takes as long as an answer. */
function rememberLast(model: RealModel): RealModel {
  const known = new Map<string, Awaited<ReturnType<RealModel['weigh']>>>()
  return {
    ...model,
    weigh: async (messages, text, signal) => {
      const key = JSON.stringify([messages, text])
      const found = known.get(key) ?? (await model.weigh(messages, text, signal))
      known.delete(key)
      known.set(key, found)
      const [oldest] = known.keys()
      if (known.size > mostRemembered && oldest !== undefined) known.delete(oldest)
      return found
    },
  }
}

function parsed(body: unknown): Ask {
  const { data, error } = Ask.safeParse(body)
  if (data) return data
  const [issue] = error.issues
  const param = issue?.code === 'unrecognized_keys' ? issue.keys[0] : issue?.path.join('.')
  throw new Refused(400, `This server does not take ${param || 'this body'}: ${issue?.message}`, {
    ...(param && { param }),
  })
}

function failure(error: unknown): Response {
  const { status, details } =
    error instanceof Refused
      ? error
      : error instanceof ContextExceeded
        ? { status: 400, details: { param: 'messages', code: 'context_length_exceeded' } }
        : { status: 503, details: {} }
  const type = status < 500 ? 'invalid_request_error' : 'server_error'
  const body = { message: errorMessage(error), type, param: null, code: null, ...details }
  return Response.json({ error: body }, { status })
}

const head = (ask: Ask, object: string) => ({
  ...{ id: `chatcmpl-${randomUUID()}`, object, model: ask.model },
  created: Math.floor(Date.now() / 1_000),
})

const usageOf = (prompt_tokens: number, completion_tokens: number) => ({
  ...{ prompt_tokens, completion_tokens },
  total_tokens: prompt_tokens + completion_tokens,
})

const whole = (ask: Ask, { text, finish, promptTokens, answerTokens }: Answered) => ({
  ...head(ask, 'chat.completion'),
  choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: finish }],
  usage: usageOf(promptTokens, answerTokens),
})

/** Resolves at the first piece of the answer, so that a failure before it has its own status. */
async function streamed(
  ask: Ask,
  answer: (onText: (piece: string) => void) => Promise<Answered>,
  gone: AbortController,
): Promise<Response> {
  const { readable, writable } = new TransformStream<string, string>()
  const writer = writable.getWriter()
  writer.closed.catch((error) => gone.abort(error))
  const start = head(ask, 'chat.completion.chunk')
  const send = (event: object | string) =>
    void writer
      .write(
        `data: ${typeof event === 'string' ? event : JSON.stringify({ ...start, ...event })}\n\n`,
      )
      .catch(() => {})
  const chunk = (delta: object, finish_reason: string | null = null) =>
    send({ choices: [{ index: 0, delta, finish_reason }] })
  await new Promise<void>((begun, failed) => {
    const done = answer((content) => {
      chunk({ role: 'assistant', content })
      begun()
    })
    done.then(
      ({ finish, promptTokens, answerTokens }) => {
        chunk({}, finish)
        if (ask.stream_options?.include_usage) {
          send({ choices: [], usage: usageOf(promptTokens, answerTokens) })
        }
        send('[DONE]')
        writer.close().catch(() => {})
        begun()
      },
      (error) => {
        writer.abort(error).catch(() => {})
        failed(error)
      },
    )
  })
  return new Response(readable.pipeThrough(new TextEncoderStream()), {
    headers: { 'content-type': 'text/event-stream' },
  })
}

/** Weighs the last message, in vLLM's form: for each place an object by token number. Places before the text are empty. */
async function weighed(model: RealModel, ask: Ask, signal: AbortSignal) {
  const given = ask.messages.at(-1)
  if (given?.role !== 'assistant' || given.content === '') {
    throw new Refused(400, 'There is no answer to weigh: end with a message of the assistant', {
      param: 'messages',
    })
  }
  const { prompt, told } = await model.weigh(ask.messages.slice(0, -1), given.content, signal)
  const places = told.map(({ id, token, logprob, top }) =>
    Object.fromEntries(
      [...top, { id, token, logprob }].map((one) => [
        one.id,
        { logprob: one.logprob, decoded_token: one.token },
      ]),
    ),
  )
  const ids = [...prompt, ...told.map(({ id }) => id)]
  const nothing = { text: '', finish: 'length', promptTokens: ids.length, answerTokens: 1 } as const
  return {
    ...whole(ask, nothing),
    prompt_logprobs: [...prompt.map(() => null), ...places],
    prompt_token_ids: ids,
  }
}

if (import.meta.main) {
  await runOnly('bun demo/real-model/server.ts', {
    summary: 'Serve a real model in the protocol of OpenAI.',
    options: z.object({
      port: option(WholeNumber(0, 65_535).default(0), 'N', 'Where to listen. 0: any free port'),
      folder: option(z.string(), 'FOLDER', 'Its node_modules has the library'),
      weights: option(z.string(), 'FILE', 'The model, in GGUF'),
      name: option(z.string().default('smollm2-135m-instruct'), 'NAME', "The model's name"),
      cpu: option(
        z.string().optional(),
        'LEVEL',
        'The processor level of the library, such as haswell (default: the best)',
      ),
      threads: option(WholeNumber(1, 64).default(1), 'N', 'How many threads compute'),
    }),
    run: async ({ port, name, ...chosen }, { print }) => {
      const server = Bun.serve({
        ...{ hostname: '127.0.0.1', port, idleTimeout: 0, maxRequestBodySize: maxBodyBytes },
        fetch: createServer(await loadModel(chosen), name),
      })
      print(`The model ${name} at ${server.url.origin}`)
      return await new Promise(() => {})
    },
  })
}

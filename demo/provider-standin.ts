import { createHash } from 'node:crypto'
import { z } from 'zod'
import { option, WholeNumber } from '../lib/host/program/option.ts'
import { runOnly } from '../lib/host/program/run-program.ts'
import { builtIn, type ProviderApi } from '../lib/providers.ts'
import {
  type Message,
  readScript,
  type Script,
  type Turn,
  textOf,
  turnOf,
} from './standin-script.ts'

/** The label that marks every answer of the stand-in as not from a model. */
export const standInLabel = 'local stand-in, no model runs here'

const protocols: Readonly<Record<string, ProviderApi>> = {
  '/chat/completions': 'openai',
  '/messages': 'anthropic',
}

const played = Object.entries(builtIn).flatMap(([name, { models, api }]) =>
  models.map((model) => ({ id: `${name}:${model}`, model, protocol: api })),
)

/** The models that the stand-in plays. */
export const standInModels: readonly string[] = played.map(({ id }) => id)

const maxEchoChars = 400

/** Returns the stand-in's answer: the same for the same prompt, and obviously not from a model. */
function standInAnswer(prompt: string): string {
  const words = prompt.trim().split(/\s+/u).length
  const hash = createHash('sha256').update(prompt).digest('hex').slice(0, 12)
  const echo = prompt.length > maxEchoChars ? `${prompt.slice(0, maxEchoChars)} ...` : prompt
  return `[${standInLabel}] The prompt has ${words} ${words === 1 ? 'word' : 'words'}, its SHA-256 begins with ${hash}, and it says: ${echo}`
}

type Ask = {
  readonly model?: unknown
  readonly messages?: readonly Message[]
}

const problem = (
  protocol: ProviderApi,
  status: number,
  type: string,
  message: string,
): Response => {
  const error = { type, message, ...(protocol === 'openai' && { code: type, param: null }) }
  const body = protocol === 'openai' ? { error } : { type: 'error', error }
  return Response.json(body, { status })
}

const promptOf = (messages: readonly Message[]): string =>
  textOf(messages.filter(({ role }) => role === 'user').at(-1)?.content)

const countTokens = (text: string): number => text.split(/\s+/u).filter(Boolean).length

const idOf = (prompt: string, turn: Turn): string =>
  createHash('sha256')
    .update(`${prompt}${JSON.stringify(turn)}`)
    .digest('hex')
    .slice(0, 16)

function completion(model: string, prompt: string, turn: Turn) {
  const id = idOf(prompt, turn)
  const prompt_tokens = countTokens(prompt)
  const completion_tokens = countTokens(JSON.stringify(turn))
  const said =
    'text' in turn
      ? { content: turn.text }
      : {
          content: null,
          tool_calls: turn.calls.map(({ name, arguments: given }, index) => ({
            id: `call_${id}_${index}`,
            type: 'function',
            function: { name, arguments: JSON.stringify(given) },
          })),
        }
  return {
    id: `chatcmpl-standin-${id}`,
    object: 'chat.completion',
    created: 0,
    model,
    system_fingerprint: standInLabel,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', refusal: null, ...said },
        logprobs: null,
        finish_reason: 'text' in turn ? 'stop' : 'tool_calls',
      },
    ],
    usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
  }
}

function message(model: string, prompt: string, turn: Turn) {
  const id = idOf(prompt, turn)
  return {
    id: `msg_standin_${id}`,
    type: 'message',
    role: 'assistant',
    model,
    content:
      'text' in turn
        ? [{ type: 'text', text: turn.text }]
        : turn.calls.map(({ name, arguments: input }, index) => ({
            type: 'tool_use',
            id: `toolu_${id}_${index}`,
            name,
            input,
          })),
    stop_reason: 'text' in turn ? 'end_turn' : 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: countTokens(prompt), output_tokens: countTokens(JSON.stringify(turn)) },
  }
}

const modelList = () =>
  standInModels.map((id) => ({
    id: id.slice(id.indexOf(':') + 1),
    object: 'model',
    type: 'model',
    created: 0,
    display_name: `${id} (${standInLabel})`,
    owned_by: standInLabel,
  }))

async function answer(request: Request, protocol: ProviderApi, script: Script): Promise<Response> {
  const invalid = (why: string) => problem(protocol, 400, 'invalid_request_error', why)
  let ask: Ask
  try {
    ask = (await request.json()) as Ask
  } catch {
    return invalid('The body is not JSON')
  }
  const { model, messages } = ask
  if (typeof model !== 'string') return invalid('model is missing')
  if (!Array.isArray(messages) || messages.length === 0) return invalid('messages are missing')
  if (!played.some((one) => one.model === model && one.protocol === protocol)) {
    const type = protocol === 'openai' ? 'model_not_found' : 'not_found_error'
    return problem(protocol, 404, type, `There is no model ${model} (${standInLabel})`)
  }
  const prompt = promptOf(messages)
  const turn = turnOf(script, messages) ?? { text: standInAnswer(prompt) }
  return Response.json((protocol === 'openai' ? completion : message)(model, prompt, turn), {
    headers: { 'x-stand-in': standInLabel },
  })
}

/** Answers a request in OpenAI's or Anthropic's protocol. */
async function serveStandIn(request: Request, script: Script): Promise<Response> {
  const route = `${request.method} ${new URL(request.url).pathname}`
  const protocol = protocols[route.replace('POST /v1', '')]
  // As the nodes' SDKs send it, in the requests of jobs and of probes.
  if (!request.headers.get('authorization')?.startsWith('Bearer ')) {
    const type = protocol === 'anthropic' ? 'authentication_error' : 'invalid_api_key'
    return problem(protocol ?? 'openai', 401, type, 'The request carries no API key')
  }
  if (protocol !== undefined) return await answer(request, protocol, script)
  if (route === 'GET /v1/models') {
    return Response.json({ object: 'list', data: modelList(), has_more: false })
  }
  return problem('openai', 404, 'not_found', `There is nothing at ${route} (${standInLabel})`)
}

if (import.meta.main) {
  await runOnly('bun demo/provider-standin.ts', {
    summary: 'Serve scripted answers in the protocols of OpenAI and Anthropic.',
    options: z.object({
      port: option(WholeNumber(0, 65_535).default(0), 'N', 'Where to listen. 0: any free port'),
      script: option(z.string().optional(), 'FILE', 'The answers, such as demo/agent-script.json'),
    }),
    run: async ({ port, script: file }, { print }) => {
      const script = file === undefined ? { conversations: [] } : await readScript(file)
      const fetch = (request: Request) => serveStandIn(request, script)
      const server = Bun.serve({ hostname: '127.0.0.1', port, fetch })
      print(`Stand-in for OpenAI and Anthropic (${standInLabel}) at ${server.url.origin}`)
      return await new Promise(() => {})
    },
  })
}

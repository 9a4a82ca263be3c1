import type { ServerResponse } from 'node:http'
import { answerJson, type Seen, startServer } from '../local-server.ts'

/** One call of a node to its provider. */
export type ProviderCall = {
  readonly protocol: 'openai' | 'anthropic'
  /** The API key: each node has its own, which tells the processes apart. */
  readonly key: string
  readonly model: string
  readonly prompt: string
  /** The whole request. */
  readonly body: Readonly<Record<string, unknown>>
}

/** A provider in this test's hands. */
export type ProviderServer = {
  readonly openaiUrl: string
  readonly anthropicUrl: string
  readonly calls: ProviderCall[]
  readonly stop: () => Promise<void>
}

type Message = { role: string; content: string | readonly { text?: string }[] }

const promptOf = (messages: readonly Message[]): string => {
  const content = messages.filter(({ role }) => role === 'user').at(-1)?.content ?? ''
  return typeof content === 'string' ? content : content.map(({ text = '' }) => text).join('')
}

/** Calls of tools, in place of a text. */
type ScriptedCalls = readonly { readonly name: string; readonly input: object }[]

let nextCall = 0

// Each node's calls have other ids, and other spaces.
const callsBody = (protocol: ProviderCall['protocol'], model: string, calls: ScriptedCalls) => {
  const callId = () => {
    nextCall += 1
    return `call_${nextCall}`
  }
  if (protocol === 'anthropic') {
    const content = calls.map((call) => ({ type: 'tool_use', id: callId(), ...call }))
    return { ...answerBody(protocol, model, ''), content, stop_reason: 'tool_use' }
  }
  const tool_calls = calls.map(({ name, input }) => {
    const id = callId()
    const written = JSON.stringify(input, null, nextCall % 4)
    return { id, type: 'function', function: { name, arguments: written } }
  })
  const message = { role: 'assistant', content: null, tool_calls }
  return {
    ...answerBody(protocol, model, ''),
    choices: [{ index: 0, finish_reason: 'tool_calls', message }],
  }
}

/** What ends an answer that its provider says it cut off. */
export const cutOff = ' (cut off)'

const answerBody = (protocol: ProviderCall['protocol'], model: string, answer: string) =>
  protocol === 'openai'
    ? {
        id: 'chatcmpl-1',
        object: 'chat.completion',
        created: 1,
        model,
        choices: [
          {
            index: 0,
            finish_reason: answer.endsWith(cutOff) ? 'length' : 'stop',
            message: { role: 'assistant', content: answer },
          },
        ],
        usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
      }
    : {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model,
        content: [{ type: 'text', text: answer }],
        stop_reason: 'end_turn',
        stop_sequence: null,
        usage: { input_tokens: 1, output_tokens: 1 },
      }

/** What a provider answers: a text, calls of tools, a rate limit for so many seconds, or undefined to refuse the key. */
type Told = string | ScriptedCalls | number | undefined

/** Starts a provider that answers as told. */
export async function startProviderServer(
  answer: (call: ProviderCall) => Told | Promise<Told>,
): Promise<ProviderServer> {
  const calls: ProviderCall[] = []
  const serve = async (response: ServerResponse, { path, headers, body: json }: Seen) => {
    // Only the credential of a job, for the list of models, too.
    const [, key] = headers.authorization?.split('Bearer ') ?? []
    if (key === undefined) return answerJson(response, 401, { error: { message: 'no key' } })
    if (path.endsWith('/models')) return answerJson(response, 200, { data: [] })
    const protocol = path.endsWith('/messages') ? 'anthropic' : 'openai'
    const body = JSON.parse(json) as { model: string; messages: Message[] }
    const { model, messages } = body
    const call = { protocol, key, model, prompt: promptOf(messages), body } as const
    calls.push(call)
    const text = await answer(call)
    if (text === undefined) {
      const error = {
        type: 'authentication_error',
        message: 'no such key',
        code: 'invalid_api_key',
      }
      return answerJson(response, 401, protocol === 'openai' ? { error } : { type: 'error', error })
    }
    if (typeof text === 'number') {
      const error = { type: 'rate_limit_error', message: 'Slow down' }
      const body = protocol === 'openai' ? { error } : { type: 'error', error }
      return answerJson(response, 429, body, { 'retry-after': `${text}` })
    }
    const isText = typeof text === 'string'
    answerJson(response, 200, (isText ? answerBody : callsBody)(protocol, model, text as never))
  }
  const { url, close } = await startServer((response, request) =>
    serve(response, request).catch((error: unknown) =>
      answerJson(response, 500, { error: String(error) }),
    ),
  )
  return { openaiUrl: `${url}/v1`, anthropicUrl: url, calls, stop: close }
}

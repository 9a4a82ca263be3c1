import type { ServerResponse } from 'node:http'
import { z } from 'zod'
import { answerJson, type LocalServer, startServer } from '../local-server.ts'
import { type Row, rows, slowRow } from './rows.ts'

/*
 * A provider that answers each request as the row says that its prompt names: `row NAME`, or `row NAME, streamed`. A streamed answer is the
 * same completion in chunks, as OpenAI sends them.
 */

/** A request as a row sees it. */
export type Request = { readonly body: Body; readonly earlier: number }
type Body = z.output<typeof Body>

const Body = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.unknown() })),
  tools: z.array(z.unknown()).optional(),
  stream: z.boolean().optional(),
})

/** The provider's response to the request of a row. */
export type Reply =
  | { readonly completion: Completion }
  | { readonly status: number; readonly json: unknown; readonly headers?: Record<string, string> }
  | { readonly raw: (response: ServerResponse) => void }

/** A completion as OpenAI's API has it, with one choice. */
export type Completion = {
  readonly message: Readonly<Record<string, unknown>> | null
  readonly finish: string | null
  readonly more?: Readonly<Record<string, unknown>>
}

const usage = { prompt_tokens: 11, completion_tokens: 7, total_tokens: 18 }

/** Starts the provider. `askedFor` counts the requests for a row. */
export async function startScripted(): Promise<
  LocalServer & { askedFor: (key: string) => number }
> {
  const asked = new Map<string, number>()
  const server = await startServer(async (response, { method, body: text }) => {
    if (method === 'GET') return answerJson(response, 200, { data: [{ id: 'm' }] })
    const body = Body.parse(JSON.parse(text))
    const [key, row] = rowOf(body)
    const earlier = asked.get(key) ?? 0
    asked.set(key, earlier + 1)
    const reply = await (row?.reply({ body, earlier }) ?? ok('Yes.'))
    if ('raw' in reply) return reply.raw(response)
    if ('json' in reply) return answerJson(response, reply.status, reply.json, reply.headers)
    if (key.endsWith(', streamed') && body.stream === true)
      return streamed(response, reply.completion)
    answerJson(response, 200, wholeOf(reply.completion))
  })
  return { ...server, askedFor: (key) => asked.get(key) ?? 0 }
}

/** A plain answer. */
const ok = (content: string, finish = 'stop'): Reply => ({
  completion: { message: { content }, finish },
})

function rowOf({ messages }: Body): readonly [string, Row | undefined] {
  const said = messages
    .map(({ content }) => (typeof content === 'string' ? content : ''))
    .join('\n')
  const key = /row (.*)$/m.exec(said)?.[1] ?? ''
  const name = key.replace(/, streamed$/, '')
  return [key, [...rows, slowRow].find((row) => row.name === name)]
}

const common = { id: 'chatcmpl-1', created: 1, model: 'm' }

const wholeOf = ({ message, finish, more }: Completion) => ({
  ...common,
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      message: message && { role: 'assistant', content: null, ...message },
      finish_reason: finish,
      ...more,
    },
  ],
  usage,
})

function streamed(response: ServerResponse, { message, finish, more }: Completion): void {
  const send = (data: unknown) => response.write(`data: ${JSON.stringify(data)}\n\n`)
  const chunk = (delta: object, end: string | null = null, extra: object = {}) =>
    send({
      ...common,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: end, ...extra }],
    })
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  response.write(': OPENROUTER PROCESSING\n\n')
  const { content, tool_calls: calls, ...rest } = message ?? {}
  chunk({ role: 'assistant', content: '', ...rest })
  if (typeof content === 'string') {
    chunk({ content: content.slice(0, 3) })
    chunk({ content: content.slice(3) })
  } else if (content) chunk({ content })
  if (Array.isArray(calls)) chunk({ tool_calls: calls.map((call, index) => ({ index, ...call })) })
  chunk({}, finish, more)
  send({ ...common, object: 'chat.completion.chunk', choices: [], usage })
  response.end('data: [DONE]\n\n')
}

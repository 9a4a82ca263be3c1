import type { Completion, Reply, Request } from './scripted.ts'

/*
 * Forms of answers and failures that public reports of other gateways name, and the result that a client of this one gets. The number is
 * the most requests to providers that the job may make with three nodes.
 */

export type Row = {
  readonly name: string
  /** The provider in the model's id, where the failure withdraws its models. */
  readonly provider?: string
  readonly reply: (request: Request) => Reply | Promise<Reply>
  /** More of the client's request. */
  readonly more?: object
  readonly most?: number
  readonly expected: Expected
}

/** The result at the client. */
export type Expected = {
  readonly status: number
  readonly code?: string
  readonly says?: string
  readonly finish?: string
  /** The name and the arguments of the called tool. */
  readonly calls?: readonly [string, string]
  readonly ignored?: string
}

const reply =
  (message: Completion['message'], finish: string | null = 'stop', more = {}): Row['reply'] =>
  () => ({ completion: { message, finish, more } })
const fails =
  (status: number, error: object | string, headers?: Record<string, string>): Row['reply'] =>
  () => ({ status, json: { error }, ...(headers && { headers }) })
/** Refuses the requests that the condition is true of, with an error, and answers the others. */
const unlessRefused =
  (isRefused: (request: Request) => boolean, error: object): Row['reply'] =>
  (request) =>
    isRefused(request)
      ? { status: 400, json: { error } }
      : { completion: { message: { content: 'Taken.' }, finish: 'stop' } }
const raw =
  (type: string | undefined, text: string | Uint8Array, headers = {}): Row['reply'] =>
  () => ({
    raw: (response) => {
      response.writeHead(200, { ...(type && { 'content-type': type }), ...headers })
      response.end(text)
    },
  })
const called = (name: string, written: unknown) => ({
  tool_calls: [{ id: 'a', type: 'function', function: { name, arguments: written } }],
})

const weather = {
  tools: [
    {
      type: 'function',
      function: { name: 'get_weather', parameters: { type: 'object', properties: { city: {} } } },
    },
  ],
}
const completion = (content: string) =>
  JSON.stringify({ choices: [{ index: 0, message: { content }, finish_reason: 'stop' }] })

const says = (text: string, finish = 'stop'): Expected => ({ status: 200, says: text, finish })
const calls = (name: string, written: string): Expected => ({
  status: 200,
  finish: 'tool_calls',
  calls: [name, written],
})
const down: Expected = { status: 503 }
const empty: Expected = { status: 502, code: 'provider_answer_empty' }
const tooLong: Expected = { status: 400, code: 'context_length_exceeded' }

const answers: readonly Row[] = [
  { name: 'plain', reply: reply({ content: 'Oslo.' }), expected: says('Oslo.') },
  {
    name: 'cut',
    reply: reply({ content: 'This is' }, 'length'),
    expected: says('This is', 'length'),
  },
  {
    name: 'cut, said as Anthropic does',
    reply: reply({ content: 'This is' }, 'max_tokens'),
    expected: says('This is', 'length'),
  },
  {
    name: 'content in parts',
    reply: reply({
      content: [
        { type: 'thinking', thinking: [{ type: 'text', text: 'Hm.' }] },
        { type: 'text', text: 'Part one. ' },
        { type: 'text', text: 'Part two.' },
      ],
    }),
    expected: says('Part one. Part two.'),
  },
  {
    name: 'thoughts next to the text',
    reply: reply({ content: '42', reasoning_content: 'Let me think.' }),
    expected: says('42'),
  },
  ...(
    [
      ['a text', '{"city":"Oslo"}', '{"city":"Oslo"}'],
      ['an object', { city: 'Oslo' }, '{"city":"Oslo"}'],
      ['null', null, '{}'],
      ['left out', undefined, '{}'],
      ['an empty text', '', '{}'],
    ] as const
  ).map(
    ([form, written, expected]): Row => ({
      name: `arguments: ${form}`,
      reply: reply(called('get_weather', written), 'tool_calls'),
      more: weather,
      expected: calls('get_weather', expected),
    }),
  ),
  {
    name: 'a call of a tool that is not listed',
    reply: reply(called('functions.get_weather', '{}'), 'tool_calls'),
    more: weather,
    expected: calls('functions.get_weather', '{}'),
  },
  {
    name: 'a demanded call that does not come',
    reply: reply({ content: 'Rain.' }),
    more: { ...weather, tool_choice: 'required' },
    expected: { status: 400, code: 'unsupported_value' },
  },
  {
    name: 'parallel_tool_calls: false',
    reply: ({ body }) => ({
      completion: {
        message: called('get_weather', JSON.stringify({ sent: body.parallel_tool_calls })),
        finish: 'tool_calls',
      },
    }),
    more: { ...weather, parallel_tool_calls: false },
    expected: calls('get_weather', '{"sent":false}'),
  },
  {
    name: 'reasoning_effort',
    reply: ({ body }) => ({
      completion: { message: { content: `Effort ${body.reasoning_effort}.` }, finish: 'stop' },
    }),
    more: { reasoning_effort: 'low' },
    expected: says('Effort low.'),
  },
  {
    name: 'members of a schema',
    reply: ({ body }) => ({
      completion: { message: { content: membersOf(body.response_format) }, finish: 'stop' },
    }),
    more: {
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'a',
          schema: { type: 'object', properties: { reasoning: {}, answer: {} } },
        },
      },
    },
    expected: says('["reasoning","answer"]'),
  },
  {
    name: 'only max_completion_tokens is taken',
    provider: 'azure',
    reply: unlessRefused(({ body }) => 'max_tokens' in body, {
      message:
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      ...{ param: 'max_tokens', code: 'unsupported_parameter' },
    }),
    expected: says('Taken.'),
  },
  {
    name: 'at most 512 tokens are taken',
    provider: 'short',
    reply: unlessRefused(
      ({ body }) => Number(body.max_tokens ?? body.max_completion_tokens) > 512,
      {
        message:
          'max_tokens is too large: 1024. This model supports at most 512 completion tokens, whereas you provided 1024.',
        ...{ param: 'max_tokens', code: 'invalid_value' },
      },
    ),
    expected: says('Taken.'),
  },
  {
    name: 'JSON as text/plain',
    reply: raw('text/plain; charset=utf-8', completion('As text.')),
    expected: says('As text.'),
  },
  {
    name: 'JSON of no type',
    reply: raw(undefined, completion('No type.')),
    expected: says('No type.'),
  },
  {
    name: 'JSON after a byte order mark',
    reply: raw('application/json', `\ufeff${completion('A mark.')}`),
    expected: says('A mark.'),
  },
  {
    name: 'max_tokens: 100000',
    reply: reply({ content: 'Long.' }),
    more: { max_tokens: 100_000 },
    expected: { ...says('Long.'), ignored: 'max_tokens' },
  },
  {
    name: 'an empty message in the middle, and stop: ""',
    reply: reply({ content: 'Fine.' }),
    more: {
      stop: '',
      messages: [
        { role: 'user', content: '' },
        { role: 'assistant', content: 'Yes?' },
        { role: 'user', content: 'row an empty message in the middle, and stop: ""' },
      ],
    },
    expected: says('Fine.'),
  },
]

const membersOf = (format: unknown): string => {
  const { json_schema: { schema: { properties = {} } = {} } = {} } = (format ?? {}) as {
    json_schema?: { schema?: { properties?: object } }
  }
  return JSON.stringify(Object.keys(properties))
}

const failures: readonly Row[] = [
  {
    name: 'a rate limit under 200',
    provider: 'free',
    reply: fails(200, { message: 'Rate limit exceeded: free-models-per-day', code: 429 }),
    expected: { status: 429, code: 'rate_limit_exceeded' },
  },
  {
    name: 'no credit under 200',
    provider: 'poor',
    reply: fails(200, { message: 'Insufficient credits. Add more', code: 402 }),
    expected: { status: 429, code: 'insufficient_quota' },
  },
  {
    name: 'an error in the choice',
    reply: reply({ content: '' }, 'error', {
      error: { code: 502, message: 'Upstream idle timeout' },
    }),
    expected: down,
  },
  {
    name: 'an error after half a text',
    reply: reply({ content: 'half an ans' }, null, {
      error: { code: 502, message: 'Provider error' },
    }),
    expected: down,
  },
  { name: 'finish_reason abort', reply: reply({ content: 'half' }, 'abort'), expected: down },
  {
    name: 'context full, as OpenAI says it',
    reply: fails(400, {
      message: "This model's maximum context length is 8192 tokens.",
      ...{ type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
    }),
    expected: tooLong,
  },
  {
    name: 'context full, as llama.cpp says it',
    reply: fails(400, {
      ...{ code: 400, type: 'exceed_context_size_error', n_prompt_tokens: 9000, n_ctx: 8192 },
      message: 'request (9000 tokens) exceeds the available context size (8192 tokens)',
    }),
    expected: tooLong,
  },
  {
    name: 'context full, as vLLM says it',
    reply: () => ({
      status: 400,
      json: {
        object: 'error',
        message:
          "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages, 1000 in the completion).",
        ...{ type: 'BadRequestError', param: null, code: 400 },
      },
    }),
    expected: tooLong,
  },
  {
    name: 'a filter, as Azure says it',
    reply: fails(400, {
      message: "The response was filtered due to the prompt triggering Azure OpenAI's policy.",
      ...{ type: null, param: 'prompt', code: 'content_filter', status: 400 },
    }),
    expected: { status: 400 },
  },
  { name: 'a refusal', reply: reply({ refusal: 'I cannot help.' }), expected: { status: 400 } },
  { name: 'no choices', reply: () => ({ status: 200, json: { choices: [] } }), expected: empty },
  { name: 'no message', reply: reply(null), expected: empty },
  {
    name: 'only thoughts',
    reply: reply({ content: '', reasoning_content: 'thinking' }, 'length'),
    expected: empty,
  },
  {
    name: 'a limit for an hour',
    provider: 'limited',
    reply: fails(429, { message: 'Rate limit' }, { 'retry-after': '3600' }),
    expected: { status: 429, code: 'rate_limit_exceeded' },
  },
  {
    name: 'overloaded',
    reply: fails(529, { type: 'overloaded_error', message: 'Overloaded' }),
    expected: down,
  },
  {
    name: 'a page under 503',
    reply: () => ({
      raw: (response) => {
        response.writeHead(503, { 'content-type': 'text/html' })
        response.end('<html>503</html>')
      },
    }),
    expected: down,
  },
  { name: 'a login page', reply: raw('text/html', '<html>login</html>'), expected: down },
  {
    name: 'gzip that is none',
    reply: raw('application/json', completion('x'), { 'content-encoding': 'gzip' }),
    expected: down,
  },
  {
    name: 'a connection that breaks',
    reply: () => ({ raw: (response) => response.socket?.destroy() }),
    expected: down,
  },
  {
    name: 'a stream that breaks off',
    reply: raw('text/event-stream', 'data: {"choices":[{"delta":{"content":"half"}}]}\n\n'),
    expected: down,
  },
]

/** Every row. */
export const rows: readonly Row[] = [...answers, ...failures]

/** Rows that are tried as a stream, too: those whose provider sends a completion. */
export const isStreamed = (row: Row): boolean => answers.includes(row)

const slowMs = 150_000

/** An answer that takes 150 s and says nothing before. */
export const slowRow: Row = {
  name: 'an answer after 150 s',
  reply: async () => {
    await new Promise((resolve) => setTimeout(resolve, slowMs))
    return { completion: { message: { content: 'At last.' }, finish: 'stop' } }
  },
  expected: says('At last.'),
}

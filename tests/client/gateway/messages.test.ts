import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, it } from 'vitest'
import { readMessageRequest } from '../../../client/gateway/message-request.ts'
import type { AcceptedInference } from '../../../lib/client/inference.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { acceptedAs, fakeGateway, jobId } from './fake-client.ts'

type Fake = ReturnType<typeof fakeGateway>

const path = '/v1/messages'
const look = { name: 'look', input_schema: { type: 'object' as const } }
const asked = {
  ...{ model: 'openai:one', max_tokens: 100, tools: [look] },
  messages: [{ role: 'user' as const, content: 'Who?' }],
}

const calling = (written: string, ended: 'length' | 'tool_calls'): AcceptedInference => ({
  ...{ ...acceptedAs('{}', 'openai:one'), ended },
  usage: { input_tokens: 37, output_tokens: 8 },
  answer: {
    ...{ version: 1, finish_reason: ended },
    tool_calls: [{ name: 'look', arguments: written }],
  },
})

const messagesOf = (prompt: Fake['asked'][number]['prompt']) =>
  typeof prompt === 'string' ? [] : prompt.messages

const failing = (code: string) =>
  fakeGateway(() => Promise.reject(new SvcError(code, 'Why', { hint: 'What to do.' })))

/** The official client, whose requests this process answers. */
const clientOf = ({ app }: Fake, apiKey = 'any') =>
  new Anthropic({
    ...{ apiKey, baseURL: 'http://127.0.0.1:8787', logLevel: 'off' },
    fetch: async (input, init) => app.fetch(new Request(input as string, init)),
  })

const eventsOf = async (response: Response) =>
  (await response.text())
    .split('\n\n')
    .filter((event) => event.startsWith('event: '))
    .map((event) => {
      const [name, data] = event.split('\n')
      const parsed = JSON.parse(data!.slice('data: '.length))
      expect(name).toBe(`event: ${parsed.type}`)
      return parsed
    })

describe('a message', () => {
  it('has the answer, or its calls as they can be sent back, and the proof', async () => {
    const whole = await fakeGateway(() => acceptedAs('A gull.', 'openai:one')).post(asked, {}, path)
    expect(whole.headers.get('x-svc-receipt-hash')).toMatch(/^0x/)
    expect(await whole.json()).toMatchObject({
      ...{ type: 'message', role: 'assistant', stop_reason: 'end_turn', stop_sequence: null },
      ...{ content: [{ type: 'text', text: 'A gull.' }], usage: { output_tokens: 2 } },
      ...{ model: 'openai:one', svc: { job_id: jobId, usage: 'estimated' } },
    })
    for (const [written, ended, input, reason] of [
      ['{"at":1}', 'tool_calls', { at: 1 }, 'tool_use'],
      ['{"at":', 'length', '{"at":', 'max_tokens'],
      ['[1]', 'tool_calls', '[1]', 'tool_use'],
    ] as const) {
      const client = clientOf(fakeGateway(() => calling(written, ended)))
      const { content, stop_reason, usage } = await client.messages.create(asked)
      expect([content, stop_reason]).toEqual([
        [{ type: 'tool_use', id: expect.stringMatching(/^[\w-]+$/), name: 'look', input }],
        reason,
      ])
      expect(usage).toMatchObject({ input_tokens: 37, output_tokens: 8 })
      const [call] = content as { id: string }[]
      const result = { type: 'tool_result', tool_use_id: call!.id, content: 'A gull.' }
      const next = [
        { role: 'assistant', content },
        { role: 'user', content: [result] },
      ]
      const again = { ...asked, messages: [...asked.messages, ...next] }
      const { prompt } = readMessageRequest(again, { isStrict: true })
      expect(prompt.messages[1]).toMatchObject({ tool_calls: [{ arguments: written }] })
    }
  })

  it('comes as a stream of events in their order', async () => {
    const text = 'A gull sits on the roof of the lighthouse, and looks at the sea. '.repeat(3)
    const gateway = fakeGateway(() => acceptedAs(text, 'openai:one'))
    const events = await eventsOf(await gateway.post({ ...asked, stream: true }, {}, path))
    expect([...new Set(events.map(({ type }) => type))]).toEqual([
      ...['message_start', 'content_block_start', 'content_block_delta', 'content_block_stop'],
      ...['message_delta', 'message_stop'],
    ])
    expect(events.filter(({ type }) => type === 'content_block_delta').length).toBeGreaterThan(1)
    expect(events.at(-1).svc).toMatchObject({ job_id: jobId })
    const message = await clientOf(gateway).messages.stream(asked).finalMessage()
    expect(message).toMatchObject({
      ...{ content: [{ type: 'text', text }], stop_reason: 'end_turn' },
      usage: { output_tokens: Math.ceil(text.length / 4) },
    })
  })

  it('streams calls as pieces of JSON, and as a text what is no object, such as a cut one', async () => {
    const at = 'x'.repeat(150)
    const client = clientOf(fakeGateway(() => calling(JSON.stringify({ at }), 'tool_calls')))
    const { content, stop_reason } = await client.messages.stream(asked).finalMessage()
    expect([content, stop_reason]).toMatchObject([
      [{ type: 'tool_use', name: 'look', input: { at } }],
      'tool_use',
    ])
    for (const written of ['[1]', '5', '"x"', 'look at it', '{"at":"x","b', `{"at":1}}`]) {
      const odd = clientOf(fakeGateway(() => calling(written, 'length')))
      const stream = odd.messages.stream(asked).on('inputJson', () => {})
      const message = { content: [{ input: written }], stop_reason: 'max_tokens' }
      expect(await stream.finalMessage()).toMatchObject(message)
    }
  })

  it.each(['whole', 'streamed'])(
    'answers the tool runner of the official client, %s',
    async (how) => {
      const seen: unknown[] = []
      const gateway = fakeGateway((prompt) =>
        messagesOf(prompt).length > 1
          ? acceptedAs('A gull.', 'openai:one')
          : calling('{"at":1}', 'tool_calls'),
      )
      const run = (input: unknown) => {
        seen.push(input)
        return 'A bird.'
      }
      const tool = { ...look, type: 'custom' as const, description: 'Looks.', run, parse: Object }
      const stream = how === 'streamed'
      const runner = clientOf(gateway).beta.messages.toolRunner({ ...asked, stream, tools: [tool] })
      expect(await runner.runUntilDone()).toMatchObject({ content: [{ text: 'A gull.' }] })
      expect(seen).toEqual([{ at: 1 }])
      const roles = gateway.asked.map(({ prompt }) => messagesOf(prompt).map(({ role }) => role))
      expect(roles).toEqual([['user'], ['user', 'assistant', 'tool']])
    },
  )

  it.each(['ends', 'fails'])('that takes long has pings before it %s', async (how) => {
    const gateway = fakeGateway(
      async (_, { onSubmitted }) => {
        onSubmitted?.({ jobId } as never)
        await new Promise((resolve) => setImmediate(resolve))
        if (how === 'ends') return calling('{}', 'tool_calls')
        throw new SvcError('job-disputed', 'They did not agree', { hint: 'Again.' })
      },
      { keepAliveMs: 600_000 },
    )
    const events = await eventsOf(await gateway.post({ ...asked, stream: true }, {}, path))
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'message_start', message: { content: [], usage: { input_tokens: 0 } } },
      { type: 'ping' },
    ])
    const stream = clientOf(gateway).messages.stream(asked)
    if (how === 'ends') {
      expect(events.filter(({ type }) => type === 'message_start')).toHaveLength(1)
      const { usage } = await stream.finalMessage()
      expect(usage).toMatchObject({ input_tokens: 37, output_tokens: 8 })
      return
    }
    const message = 'They did not agree. Again. (502 server_error job_disputed)'
    const details = { error_code: 'job_disputed' }
    expect(events.slice(2)).toEqual([
      { type: 'error', error: { type: 'api_error', message, details } },
    ])
    const failed = await stream.finalMessage().catch((error: unknown) => error)
    expect(failed).toMatchObject({ type: 'api_error', errorCode: 'job_disputed' })
  })
})

describe('a failure in the form of Anthropic', () => {
  it.each([
    ['prompt-not-supported', 400, Anthropic.BadRequestError, 'invalid_request_error'],
    ['provider-refused', 400, Anthropic.BadRequestError, 'invalid_request_error'],
    ['provider-quota-used-up', 402, Anthropic.APIError, 'billing_error'],
    ['client-not-allowed', 403, Anthropic.PermissionDeniedError, 'permission_error'],
    ['model-unknown', 404, Anthropic.NotFoundError, 'not_found_error'],
    ['provider-rate-limited', 429, Anthropic.RateLimitError, 'rate_limit_error'],
    ['job-disputed', 502, Anthropic.InternalServerError, 'api_error'],
    ['chain-unavailable', 503, Anthropic.InternalServerError, 'api_error'],
    ['job-expired', 504, Anthropic.InternalServerError, 'timeout_error'],
    ['not-enough-nodes', 529, Anthropic.InternalServerError, 'overloaded_error'],
    ['not-enough-serving', 529, Anthropic.InternalServerError, 'overloaded_error'],
    ['provider-unavailable', 529, Anthropic.InternalServerError, 'overloaded_error'],
  ] as const)('%s is %i, and makes no other job', async (code, status, kind, type) => {
    const gateway = failing(code)
    const client = clientOf(gateway)
    const failed = await client.messages.create(asked).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(kind)
    expect(failed).toMatchObject({ status, type, error: { type: 'error' } })
    expect((failed as Error).message).toContain('Why. What to do.')
    expect(gateway.asked).toHaveLength(1)
  })

  it('has the words at which agents shorten a conversation', async () => {
    const { messages } = clientOf(failing('provider-prompt-too-long'))
    const failed = await messages.create(asked).catch((error: unknown) => error)
    expect(failed).toMatchObject({ status: 400, errorCode: 'context_length_exceeded' })
    expect((failed as InstanceType<typeof Anthropic.APIError>).apiMessage).toMatch(
      /^prompt is too long: /,
    )
  })

  it('names a wrong key, address, body and version', async () => {
    const keys = [{ name: 'ann', key: 'a key that only Ann knows' }]
    const gateway = fakeGateway(() => acceptedAs('A gull.', 'openai:one'), { keys })
    const stranger = clientOf(gateway, 'another key')
    const refused = await stranger.messages.create(asked).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Anthropic.AuthenticationError)
    const client = clientOf(gateway, keys[0]!.key)
    expect(await client.messages.create(asked)).toMatchObject({ role: 'assistant' })
    expect(gateway.lines.at(-1)).toMatchObject({ caller: 'ann', path: '/v1/messages' })
    // The tokens of a prompt are known to the nodes alone.
    const counted = await client.messages.countTokens(asked).catch((error: unknown) => error)
    expect(counted).toMatchObject({ status: 404, errorCode: 'unknown_url' })
    for (const [body, headers, status, type] of [
      [asked, { 'anthropic-version': '2023-06-01' }, 200, undefined],
      ['{', {}, 400, 'invalid_request_error'],
      [asked, { 'anthropic-version': '2023-01-01' }, 400, 'invalid_request_error'],
      ['x'.repeat(4_194_305), {}, 413, 'request_too_large'],
    ] as const) {
      const response = await gateway.post(
        body,
        { headers: { 'x-api-key': keys[0]!.key, ...headers } },
        path,
      )
      expect([response.status, (await response.json()).error?.type]).toEqual([status, type])
    }
  })
})

describe('the models in the form of Anthropic', () => {
  it('are listed on one page, and each is found', async () => {
    const gateway = fakeGateway(() => acceptedAs('', 'openai:one'))
    const client = clientOf(gateway)
    const listed = []
    for await (const model of client.models.list({ limit: 1 })) listed.push(model)
    const ids = ['openai:one', 'openai:two', 'anthropic:two', 'best']
    expect(listed).toMatchObject(ids.map((id) => ({ id, type: 'model', display_name: id })))
    expect(await client.models.retrieve('openai:one')).toEqual(listed[0])
    const missing = await client.models.retrieve('openai:none').catch((error: unknown) => error)
    expect(missing).toBeInstanceOf(Anthropic.NotFoundError)
    const plain = await (await gateway.call('/v1/models')).json()
    expect(plain).toMatchObject({ object: 'list', data: [{ object: 'model' }, {}, {}, {}] })
  })
})

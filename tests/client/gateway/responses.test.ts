import { describe, expect, it } from 'vitest'
import { OpenAiError } from '../../../client/gateway/openai-error.ts'
import { readResponseRequest } from '../../../client/gateway/response-request.ts'
import type { AcceptedInference } from '../../../lib/client/inference.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { acceptedAs, fakeGateway, jobId } from './fake-client.ts'

const read = (more: object, isStrict = false) =>
  readResponseRequest({ model: 'openai:one', input: 'Who?', ...more }, { isStrict })
const promptOf = (more: object) => read(more).prompt

const refusalOf = (more: object, isStrict = false) => {
  try {
    read(more, isStrict)
    return undefined
  } catch (error) {
    if (!(error instanceof OpenAiError)) throw error
    expect(error.status).toBe(400)
    return [error.param, error.code]
  }
}

const look = { type: 'function', name: 'look', parameters: { type: 'object' }, strict: null }
const call = { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{"at":1}' }
const result = { type: 'function_call_output', call_id: 'call_1', output: 'A gull.' }

describe('the prompt of a response', () => {
  it('has instructions and items as the provider is to get them', () => {
    const { messages } = promptOf({
      instructions: 'Be short.',
      input: [
        { role: 'developer', content: [{ type: 'input_text', text: 'In English.' }] },
        { role: 'system', content: '' },
        { type: 'message', role: 'user', content: 'Who?' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'xyz' },
        {
          ...{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed' },
          content: [{ type: 'output_text', text: 'I look.', annotations: [], logprobs: [] }],
        },
        { ...call, id: 'fc_1', status: 'completed' },
        { ...call, call_id: 'call_2' },
        result,
        { ...result, call_id: 'call_2', output: [{ type: 'input_text', text: 'A buoy.' }] },
      ],
    })
    const { type: _, call_id, ...called } = call
    expect(messages).toEqual([
      { role: 'system', content: 'Be short.' },
      { role: 'system', content: 'In English.' },
      { role: 'user', content: 'Who?' },
      {
        ...{ role: 'assistant', content: 'I look.' },
        tool_calls: [
          { id: call_id, ...called },
          { id: 'call_2', ...called },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: 'A gull.' },
      { role: 'tool', tool_call_id: 'call_2', content: 'A buoy.' },
    ])
  })

  it('has refusals as words of the assistant, and empty messages of the user', () => {
    const content = [{ type: 'refusal', refusal: 'I cannot.' }]
    const user = { role: 'user', content: '' } as const
    expect(promptOf({ input: [user, { role: 'assistant', content }, user] }).messages).toEqual([
      user,
      { role: 'assistant', content: 'I cannot.' },
      user,
    ])
  })

  it('has what an assistant said after its calls in one message with them', () => {
    const said = { role: 'assistant', content: 'I look.' }
    const { messages } = promptOf({
      input: [{ role: 'user', content: 'Who?' }, call, said, result],
    })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(messages[1]).toMatchObject({ content: 'I look.', tool_calls: [{ name: 'look' }] })
  })

  it('has tools, the choice among them, and the form of the answer', () => {
    const schema = { type: 'object' }
    const format = { type: 'json_schema', name: 's', schema, strict: true, description: null }
    expect(
      promptOf({
        tools: [look],
        tool_choice: { type: 'function', name: 'look' },
        text: { format },
      }),
    ).toEqual({
      ...promptOfText('Who?'),
      tools: [{ name: 'look', parameters: { type: 'object' } }],
      tool_choice: { name: 'look' },
      response_format: { type: 'json_schema', name: 's', schema, strict: true },
    })
    expect(
      promptOf({ text: { format: { type: 'text' } }, tool_choice: 'auto', tools: [] }),
    ).toEqual(promptOfText('Who?'))
    const long = read({ max_output_tokens: 100_000 })
    expect([long.maxOutputTokens, long.ignored]).toEqual([
      8_192,
      ['max_output_tokens (at most 8192)'],
    ])
  })

  it('has the limit to one call, and the reasoning effort', () => {
    const more = { parallel_tool_calls: false, reasoning: { effort: 'low', summary: null } }
    expect(promptOf({ ...more, tools: [look] })).toMatchObject({
      ...{ parallel_tool_calls: false, reasoning_effort: 'low' },
    })
    expect(promptOf({ parallel_tool_calls: false, reasoning: {} })).toEqual(promptOfText('Who?'))
    expect(read(more, true).ignored).toEqual([])
  })

  it('leaves out what cannot be honoured and names it, unless the gateway is strict', () => {
    const more = {
      ...{ temperature: 0.7, reasoning: { summary: 'auto' }, truncation: 'auto', store: true },
      ...{ include: [], background: true, tools: [look, { type: 'web_search' }] },
      ...{ text: { verbosity: 'low' }, input: [{ role: 'user', content: 'Who?', name: 'x' }] },
    }
    expect(read(more).ignored).toEqual([
      ...['temperature', 'truncation', 'store', 'include', 'background'],
      ...['input[0].name', 'text.verbosity', 'tools[1] (web_search)', 'reasoning.summary'],
    ])
    expect(promptOf(more).tools).toEqual([{ name: 'look', parameters: { type: 'object' } }])
    expect(refusalOf({ temperature: 0.7 }, true)).toEqual(['temperature', 'unsupported_value'])
    expect(refusalOf({ tools: [{ type: 'web_search' }] }, true)).toEqual([
      'tools[0] (web_search)',
      'unsupported_value',
    ])
    expect(refusalOf({ max_output_tokens: 8_193 }, true)).toEqual([
      'max_output_tokens (at most 8192)',
      'unsupported_value',
    ])
    expect(refusalOf({ metadata: { a: 1 } }, true)).toEqual(['metadata.a', 'invalid_value'])
    const foreign = { metadata: { a: 1 }, reasoning: { effort: 'default' } }
    expect(read(foreign).ignored).toEqual(['metadata', 'reasoning'])
    const { ignored, prompt } = read({ reasoning: { effort: 'low', more: 1 } })
    expect([ignored, prompt.reasoning_effort]).toEqual([['reasoning.more'], 'low'])
    expect(refusalOf({ modle: 'x' }, true)).toEqual(['modle', 'unknown_parameter'])
    expect(refusalOf({ store: false, user: 'u', background: false }, true)).toBeUndefined()
  })

  it('is refused for what the gateway would have to remember, and for what is no text', () => {
    const image = { role: 'user', content: [{ type: 'input_image', image_url: 'https://a' }] }
    const cases: readonly (readonly [object, readonly string[]])[] = [
      [{ previous_response_id: 'resp_1' }, ['previous_response_id', 'unsupported_value']],
      [{ conversation: 'conv_1' }, ['conversation', 'unsupported_value']],
      [{ prompt: { id: 'pmpt_1' } }, ['prompt', 'unsupported_value']],
      [{ input: [{ type: 'item_reference', id: 'msg_1' }] }, ['input[0]', 'unsupported_value']],
      [{ input: [image] }, ['input[0].content[0].type', 'unsupported_value']],
      [{ input: [{ type: 'computer_call' }] }, ['input[0].type', 'unsupported_value']],
      [{ input: [result] }, ['input', 'invalid_value']],
      [{ input: [] }, ['input', 'invalid_value']],
      [{ input: null }, ['input', 'invalid_value']],
      [{ tool_choice: 'required' }, ['tool_choice', 'invalid_value']],
      [{ tools: [look, look] }, ['tools', 'invalid_value']],
    ]
    for (const [more, refusal] of cases) expect([more, refusalOf(more)]).toEqual([more, refusal])
  })
})

const calling = (): AcceptedInference => ({
  ...acceptedAs('{}', 'openai:one'),
  answer: {
    version: 1,
    finish_reason: 'tool_calls',
    tool_calls: [{ name: 'look', arguments: '{"at":1}' }],
  },
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

describe('a response', () => {
  const path = '/v1/responses'
  const asked = { model: 'openai:one', input: 'Who?' }

  it('has the answer as a message, or its calls, and the proof', async () => {
    const whole = await fakeGateway(() => acceptedAs('A gull.', 'openai:one')).post(asked, {}, path)
    expect(whole.headers.get('x-svc-receipt-hash')).toMatch(/^0x/)
    expect(await whole.json()).toMatchObject({
      ...{ object: 'response', status: 'completed', error: null, store: false },
      output: [{ type: 'message', content: [{ type: 'output_text', text: 'A gull.' }] }],
      usage: { output_tokens: 2 },
      svc: { job_id: jobId },
    })
    const called = await fakeGateway(calling).post({ ...asked, tools: [look] }, {}, path)
    const { output } = (await called.json()) as { output: { call_id: string }[] }
    expect(output).toMatchObject([{ type: 'function_call', name: 'look', arguments: '{"at":1}' }])
    // The next request can hold it as it is.
    const next = [
      { role: 'user', content: 'Who?' },
      ...output,
      { ...result, call_id: output[0]!.call_id },
    ]
    expect(read({ input: next }, true).prompt.messages).toHaveLength(3)
  })

  it('repeats how it was asked for', async () => {
    const more = {
      ...{ parallel_tool_calls: false, metadata: { run: '7' }, tools: [look] },
      reasoning: { effort: 'low' },
    }
    const gateway = fakeGateway(() => acceptedAs('A gull.', 'openai:one'))
    const response = await gateway.post({ ...asked, ...more }, {}, path)
    expect([response.headers.get('x-svc-ignored'), await response.json()]).toMatchObject([
      null,
      { ...more, reasoning: { effort: 'low', summary: null } },
    ])
    expect(await (await gateway.post(asked, {}, path)).json()).toMatchObject({
      ...{ parallel_tool_calls: true, metadata: {}, reasoning: { effort: null } },
    })
  })

  it('that was cut off is incomplete, also as a stream, and has the counted tokens', async () => {
    const usage = { input_tokens: 37, output_tokens: 8 }
    const cut = { ...acceptedAs('A gull', 'openai:one'), ended: 'length' as const, usage }
    const { post } = fakeGateway(() => cut)
    const events = await eventsOf(await post({ ...asked, stream: true }, {}, path))
    expect(events.at(-1)?.type).toBe('response.incomplete')
    for (const body of [await (await post(asked, {}, path)).json(), events.at(-1)?.response]) {
      expect(body).toMatchObject({
        ...{ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
        ...{ usage: { ...usage, total_tokens: 45 }, svc: { usage: 'provider' } },
      })
    }
  })

  it('comes as a stream of events in their order', async () => {
    const text = 'A gull sits on the roof of the lighthouse, and looks at the sea. '.repeat(3)
    const gateway = fakeGateway(() => acceptedAs(text, 'openai:one'))
    const events = await eventsOf(await gateway.post({ ...asked, stream: true }, {}, path))
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at))
    const types = events.map(({ type }) => type.replace('response.', ''))
    expect([...new Set(types)]).toEqual([
      ...['created', 'in_progress', 'output_item.added', 'content_part.added'],
      ...['output_text.delta', 'output_text.done', 'content_part.done', 'output_item.done'],
      'completed',
    ])
    const deltas = events.flatMap(({ type, delta }) => (type.endsWith('delta') ? [delta] : []))
    expect([deltas.length > 1, deltas.join('')]).toEqual([true, text])
    expect(events.at(-1).response.output[0].content[0].text).toBe(text)

    const tools = fakeGateway(calling)
    const called = await eventsOf(await tools.post({ ...asked, stream: true }, {}, path))
    const added = called.find(({ type }) => type === 'response.output_item.added')
    expect(added.item).toMatchObject({ type: 'function_call', name: 'look', arguments: '' })
    const done = called.find(({ type }) => type === 'response.function_call_arguments.done')
    expect(done).toMatchObject({ item_id: added.item.id, arguments: '{"at":1}' })
  })

  it.each([
    ['provider-prompt-too-long', 'context_length_exceeded'],
    ['provider-refused', 'invalid_prompt'],
  ])('that fails for %s has the code of responses, %s', async (cause, code) => {
    const failure = new SvcError(cause, 'Why', { hint: 'What to do.' })
    const response = await fakeGateway(() => Promise.reject(failure)).post(asked, {}, path)
    expect((await response.json()).error).toMatchObject({ code, param: 'input' })
  })

  it('that takes long has events before its answer, and ends with one when it fails', async () => {
    const error = new SvcError('job-disputed', 'They did not agree', { hint: 'Again.' })
    const gateway = fakeGateway(
      async (_, { onSubmitted }) => {
        onSubmitted?.({ jobId } as never)
        await new Promise((resolve) => setImmediate(resolve))
        throw error
      },
      { keepAliveMs: 600_000 },
    )
    const events = await eventsOf(await gateway.post({ ...asked, stream: true }, {}, path))
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ])
    expect(events[0].response.status).toBe('in_progress')
    const message = 'They did not agree. Again. (502 server_error job_disputed)'
    const told = { code: 'job_disputed', message }
    expect(events[2]).toMatchObject({
      ...{ ...told, error: { ...told, type: 'server_error', status: 502 }, sequence_number: 2 },
    })
    const { id } = events[0].response
    expect(events[3].response).toMatchObject({ id, status: 'failed', error: told })
  })
})

import { describe, expect, it } from 'vitest'
import { readChatRequest } from '../../../client/gateway/chat-request.ts'
import { OpenAiError } from '../../../client/gateway/openai-error.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { question } from './fake-client.ts'

const read = (body: unknown, isStrict = true) => readChatRequest(body, { isStrict })

/** The parameter and the code that a body is refused with; undefined when it is taken. */
const refusalOf = (body: unknown, isStrict = true) => {
  try {
    read(body, isStrict)
    return undefined
  } catch (error) {
    if (!(error instanceof OpenAiError)) throw error
    expect(error.status).toBe(400)
    return [error.param, error.code]
  }
}

describe('the prompt of a conversation', () => {
  const promptOf = (more: object) => read(question(more)).prompt

  it('has each message as the provider is to get it', () => {
    const parts = ['a', 'b'].map((text) => ({ type: 'text', text }))
    const call = { id: 'call_1', name: 'look', arguments: '{"at": 1}' }
    const { id, ...called } = call
    const messages = [
      { role: 'developer', content: 'Be short.' },
      { role: 'user', content: '  [system]\nWho? ', name: 'ann' },
      {
        ...{ role: 'assistant', content: null, refusal: null, annotations: [] },
        tool_calls: [{ id, type: 'function', function: called }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: parts },
      { role: 'assistant', content: 'Nobody.', tool_calls: [] },
      { role: 'user', content: parts },
    ]
    expect(promptOf({ messages })).toEqual({
      version: 1,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: '  [system]\nWho? ', name: 'ann' },
        { role: 'assistant', tool_calls: [call] },
        { role: 'tool', tool_call_id: 'call_1', content: 'a\nb' },
        { role: 'assistant', content: 'Nobody.' },
        { role: 'user', content: 'a\nb' },
      ],
    })
  })

  it('has how the answer is to be, where that says something', () => {
    const parameters = { type: 'object', properties: {} }
    const schema = { type: 'object' }
    const look = { name: 'look', description: 'Looks', parameters }
    expect(
      promptOf({
        tools: [
          { type: 'function', function: { ...look, strict: true } },
          { type: 'function', function: { name: 'hear', strict: null } },
        ],
        tool_choice: 'none',
        response_format: { type: 'json_schema', json_schema: { name: 's', schema, strict: null } },
        stop: 'END',
        seed: 0,
      }),
    ).toEqual({
      version: 1,
      messages: [{ role: 'user', content: 'Who?' }],
      tools: [{ ...look, strict: true }, { name: 'hear' }],
      tool_choice: 'none',
      response_format: { type: 'json_schema', name: 's', schema },
      stop: ['END'],
      seed: 0,
    })
    const nothing = {
      ...{ tools: [], tool_choice: 'auto', seed: null },
      response_format: { type: 'text' },
    }
    for (const stop of [[], '', ['']]) {
      expect(promptOf({ ...nothing, stop })).toEqual(promptOfText('Who?'))
    }
    expect(promptOf({ stop: ['a', '', 'b'] }).stop).toEqual(['a', 'b'])
    expect(promptOf({ response_format: { type: 'json_object' } }).response_format).toEqual({
      type: 'json_object',
    })
  })

  it('leaves out empty messages of system and assistant', () => {
    const user = { role: 'user', content: 'Who?' }
    const empty = ['system', 'developer', 'assistant'].map((role) => ({ role, content: '' }))
    expect(promptOf({ messages: [...empty, user] })).toEqual(promptOfText('Who?'))
  })

  it('has the tools that the model may call, and which it has to', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const named = { type: 'function', function: { name: 'look' } }
    for (const [choice, sent] of [
      [undefined, undefined],
      ['auto', 'auto'],
      ['required', 'required'],
      [named, { name: 'look' }],
    ] as const) {
      const { tools: given, tool_choice } = promptOf({ tools, tool_choice: choice })
      expect([given, tool_choice]).toEqual([[{ name: 'look' }], sent])
    }
  })

  it('has refusals as words of the assistant, and empty messages', () => {
    const call = { id: 'a', name: 'look', arguments: '{}' }
    const { id, ...called } = call
    const user = { role: 'user', content: '' }
    const refusal = 'I cannot.'
    const messages = [
      user,
      { role: 'assistant', content: [{ type: 'refusal', refusal }] },
      { role: 'assistant', content: null, refusal },
      { role: 'assistant', tool_calls: [{ id, type: 'function', function: called }] },
      { role: 'tool', tool_call_id: 'a', content: null },
      user,
    ]
    expect(promptOf({ messages }).messages).toEqual([
      user as never,
      { role: 'assistant', content: refusal },
      { role: 'assistant', content: refusal },
      { role: 'assistant', tool_calls: [call] },
      { role: 'tool', tool_call_id: 'a', content: '' },
      user as never,
    ])
  })

  it('has the limit to one call, and the reasoning effort', () => {
    const tools = [{ type: 'function', function: { name: 'look' } }]
    expect(promptOf({ tools, parallel_tool_calls: false, reasoning_effort: 'low' })).toEqual({
      ...promptOfText('Who?'),
      ...{ tools: [{ name: 'look' }], parallel_tool_calls: false, reasoning_effort: 'low' },
    })
    for (const said of [
      { tools, parallel_tool_calls: true, reasoning_effort: null },
      { tools, parallel_tool_calls: null },
    ]) {
      expect(promptOf(said)).toEqual({ ...promptOfText('Who?'), tools: [{ name: 'look' }] })
    }
    expect(promptOf({ parallel_tool_calls: false, tools: [] })).toEqual(promptOfText('Who?'))
  })

  it('is refused by the parameter that no node would read', () => {
    const user = { role: 'user', content: 'Who?' }
    for (const [more, param] of [
      [{ messages: [user, { role: 'assistant', content: 'x' }] }, 'messages[1].role'],
      [
        { messages: [{ role: 'tool', tool_call_id: 'a', content: 'x' }] },
        'messages[0].tool_call_id',
      ],
      // The empty message before it is left out.
      [
        {
          messages: [
            { role: 'system', content: '' },
            { role: 'user', content: '\ud800' },
          ],
        },
        'messages[1].content',
      ],
      [{ messages: [{ role: 'system', content: '' }] }, 'messages'],
      [{ messages: [{ ...user, name: 'a b' }] }, 'messages[0].name'],
      [{ stop: ['a', 'b', 'c', 'd', 'e'] }, 'stop'],
      [{ stop: 'x'.repeat(257) }, 'stop[0]'],
      [{ seed: 0.5 }, 'seed'],
      [{ reasoning_effort: 'most' }, 'reasoning_effort'],
      [{ parallel_tool_calls: 'no' }, 'parallel_tool_calls'],
      [{ tool_choice: 'required' }, 'tool_choice'],
      [{ response_format: { type: 'xml' } }, 'response_format.type'],
    ] as const) {
      expect(refusalOf(question(more))).toEqual([param, 'invalid_value'])
    }
  })
})

describe('the message of a refusal', () => {
  const messageOf = (more: object) => {
    try {
      return String(read(question(more)))
    } catch (error) {
      return error instanceof OpenAiError ? error.message : String(error)
    }
  }
  const user = { role: 'user', content: 'Who?' }

  it('names the place and the forms of a value that may have several', () => {
    const image = { type: 'image_url', image_url: { url: 'data:' } }
    const named = { type: 'function', function: { name: 7 } }
    for (const [more, message] of [
      [
        { messages: [{ role: 'user', content: [{ type: 'text', text: 'Who?' }, image] }] },
        'messages[0].content[1].type: Invalid input: expected "text"; images',
      ],
      [
        { messages: [{ role: 'user', content: 7 }] },
        'messages[0].content: Invalid input: expected string, received number, or Invalid input: expected array',
      ],
      [{ stop: [7] }, 'stop[0]: Invalid input: expected string, received number'],
      [{ tool_choice: named }, 'tool_choice.function.name: Invalid input: expected string'],
      [{ tool_choice: 'all' }, 'tool_choice: Invalid option: expected one of "none"|"auto"'],
    ] as const) {
      expect(messageOf(more)).toContain(message)
    }
  })

  it('names the call of a tool that has no result', () => {
    const calls = ['c1', 'c2'].map((id) => ({
      ...{ id, type: 'function', function: { name: 'look', arguments: '{}' } },
    }))
    const said = { role: 'assistant', content: null, tool_calls: calls }
    const messages = [user, said, { role: 'tool', tool_call_id: 'c1', content: 'x' }]
    expect(messageOf({ messages })).toBe('messages: must end with the result of call c2')
    const more = { messages: [...messages, user] }
    expect(messageOf(more)).toBe('messages[3].role: comes before the result of call c2')
  })
})

describe('a request for a completion', () => {
  it('is taken with what the service does anyway', () => {
    const taken = read(
      question({
        ...{ n: 1, temperature: 0, top_p: 1, frequency_penalty: 0, presence_penalty: 0 },
        ...{ logprobs: false, tools: [], tool_choice: 'none', stop: null, modalities: ['text'] },
        ...{ response_format: { type: 'text' }, logit_bias: {}, stream: false, max_tokens: 50 },
      }),
    )
    expect(taken).toEqual({
      model: 'openai:one',
      prompt: promptOfText('Who?'),
      stream: false,
      includeUsage: false,
      maxOutputTokens: 50,
      ignored: [],
    })
  })

  it('is taken with null or an empty list where it says nothing, as clients that write every member do', () => {
    const call = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } }
    const none = { refusal: null, annotations: null, audio: null, function_call: null, name: null }
    const look = { name: 'look', description: null, parameters: null, strict: null }
    const schema = { name: 'x', description: null, schema: {}, strict: null }
    const asked = {
      messages: [
        { role: 'user', content: 'Who?', name: null },
        { role: 'assistant', content: [], tool_calls: [call], ...none },
        { role: 'tool', tool_call_id: 'c', content: [] },
      ],
      tools: [{ type: 'function', function: look }],
      response_format: { type: 'json_schema', json_schema: schema },
      ...{ stream: true, stream_options: { include_usage: null } },
    }
    expect(read(question(asked)).prompt).toEqual({
      version: 1,
      messages: [
        { role: 'user', content: 'Who?' },
        { role: 'assistant', tool_calls: [{ id: 'c', name: 'look', arguments: '{}' }] },
        { role: 'tool', tool_call_id: 'c', content: '' },
      ],
      tools: [{ name: 'look' }],
      response_format: { type: 'json_schema', name: 'x', schema: {} },
    })
  })

  it('says what has no effect on the answer', () => {
    const { ignored } = read(question({ user: 'u', metadata: { a: 'b' }, store: true }))
    expect(ignored).toEqual(['user', 'metadata', 'store'])
  })

  it('is refused for what the service cannot do, by its name', () => {
    const cannot: readonly (readonly [string, unknown])[] = [
      ...([
        ['n', 2],
        ['temperature', 0.7],
        ['top_p', 0.5],
      ] as const),
      ...([
        ['logprobs', true],
        ['top_logprobs', 3],
      ] as const),
      ...([
        ['frequency_penalty', 1],
        ['presence_penalty', -1],
      ] as const),
      ['functions', [{ name: 'f' }]],
      ['logit_bias', { 50: 1 }],
      ['modalities', ['text', 'audio']],
      ['max_tokens', 8_193],
      ['web_search_options', {}],
      ['prediction', { type: 'content' }],
      ['audio', { voice: 'a' }],
    ]
    for (const [name, value] of cannot) {
      const refused = refusalOf(question({ [name]: value }))
      expect([name, refused?.[0]?.split(/[.[ ]/)[0], refused?.[1]]).toEqual([
        name,
        name,
        'unsupported_value',
      ])
    }
  })

  it('leaves out an unknown member of a message, however deep it is', () => {
    const depth = 60_000
    const deep: unknown = JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`)
    const messages = [{ role: 'user', content: 'Who?', cache_control: deep }]
    const { prompt, ignored } = read({ model: 'a:b', messages }, false)
    expect(prompt.messages).toEqual([{ role: 'user', content: 'Who?' }])
    expect(ignored).toEqual(['messages[0].cache_control'])
  })

  it('is taken without what cannot be honoured, unless the gateway is strict', () => {
    const asked = {
      ...{ temperature: 0.7, n: 2, top_p: 1, logprobs: true, constructor: 1, seed: 3, user: 'u' },
      ...{ audio: { voice: 'a' }, stream_options: { include_usage: true, more: 1 } },
      messages: [{ role: 'user', content: 'Who?', cache_control: { type: 'ephemeral' } }],
    }
    const { ignored, prompt } = read(question(asked), false)
    expect(ignored).toEqual([
      ...['temperature', 'n', 'logprobs', 'constructor', 'user', 'audio'],
      ...['messages[0].cache_control', 'stream_options.more'],
    ])
    expect(prompt).toEqual({ ...promptOfText('Who?'), seed: 3 })
    const foreign = { reasoning_effort: 'default', parallel_tool_calls: 'true' }
    expect(read(question(foreign), false).ignored).toEqual(Object.keys(foreign))
    expect(refusalOf(question({ constructor: 1 }))).toEqual(['constructor', 'unknown_parameter'])
  })

  it('is refused for what would change the question, strict or not', () => {
    const image = [{ type: 'image_url', image_url: { url: 'https://a' } }]
    const asked = question({ messages: [{ role: 'user', content: image }] })
    expect(refusalOf(asked, false)).toEqual(['messages[0].content[0].type', 'unsupported_value'])
    expect(refusalOf(question({ seed: 0.5 }), false)).toEqual(['seed', 'invalid_value'])
    expect(refusalOf({ model: 'm' }, false)).toEqual(['messages', 'missing_required_parameter'])
  })

  it('is refused for what is wrong with it', () => {
    const messages = (...list: unknown[]) => question({ messages: list })
    const user = { role: 'user', content: 'Who?' }
    const wrong: readonly (readonly [unknown, unknown])[] = [
      [[], [null, 'invalid_json']],
      ['text', [null, 'invalid_json']],
      [{ messages: [user] }, ['model', 'missing_required_parameter']],
      [{ model: 'm' }, ['messages', 'missing_required_parameter']],
      [question({ modle: 'm' }), ['modle', 'unknown_parameter']],
      [question({ model: 7 }), ['model', 'invalid_value']],
      [question({ max_tokens: 0 }), ['max_tokens', 'invalid_value']],
      [question({ max_tokens: 1, max_completion_tokens: 2 }), ['max_tokens', 'invalid_value']],
      [question({ stream_options: { include_usage: true } }), ['stream_options', 'invalid_value']],
      [messages(), ['messages', 'invalid_value']],
      [messages({ role: 'function', content: 'x' }), ['messages[0].role', 'unsupported_value']],
      [messages({ role: 'user' }), ['messages[0].content', 'unsupported_value']],
    ]
    for (const [body, refusal] of wrong) expect(refusalOf(body)).toEqual(refusal as string[])
    const image = {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: 'https://a' } }],
    }
    expect(refusalOf(messages(image))).toEqual(['messages[0].content[0].type', 'unsupported_value'])
    expect(() => read(messages(image))).toThrow(/images, audio and files cannot be sent/)
    const unnamed = { role: 'assistant', tool_calls: [{ type: 'function', function: {} }] }
    expect(() => read(messages(user, unnamed))).toThrow(/\.id: .*expected string/)
  })

  it('is not refused for a long text, which its bytes decide on', () => {
    const content = 'a'.repeat(1_100_000)
    const { prompt } = read(question({ messages: [{ role: 'user', content }] }))
    expect(prompt).toEqual(promptOfText(content))
  })

  it('asks for no longer answer than the service gives, and says so', () => {
    for (const name of ['max_tokens', 'max_completion_tokens']) {
      const { maxOutputTokens, ignored } = read(question({ [name]: 1_000_000 }), false)
      expect([maxOutputTokens, ignored]).toEqual([8_192, [`${name} (at most 8192)`]])
    }
    expect(read(question({ max_tokens: 8_192 })).maxOutputTokens).toBe(8_192)
    expect(read(question({ max_completion_tokens: 7, max_tokens: 7 })).maxOutputTokens).toBe(7)
    for (const none of [null, -1]) {
      const { maxOutputTokens, ignored } = read(question({ max_tokens: none }))
      expect([maxOutputTokens, ignored]).toEqual([undefined, []])
    }
    const more = { max_tokens: -1, max_completion_tokens: 7 }
    expect(read(question(more)).maxOutputTokens).toBe(7)
  })
})

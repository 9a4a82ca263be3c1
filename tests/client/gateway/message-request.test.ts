import { describe, expect, it } from 'vitest'
import { readMessageRequest } from '../../../client/gateway/message-request.ts'
import { OpenAiError } from '../../../client/gateway/openai-error.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { question } from './fake-client.ts'

const read = (more: object, isStrict = false) =>
  readMessageRequest(question({ max_tokens: 100, ...more }), { isStrict })
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

const cache_control = { type: 'ephemeral' }
const quiet = { cache_control, eager_input_streaming: true }
const look = { name: 'look', input_schema: { type: 'object' } }
const text = (words: string) => ({ type: 'text', text: words, cache_control })
const call = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 1 } }
const result = { type: 'tool_result', tool_use_id: 'toolu_1', content: 'A gull.' }
const thought = { type: 'thinking', thinking: 'Hm.', signature: 'xyz' }

describe('the prompt of a message', () => {
  it('has system and blocks as the provider is to get them', () => {
    const { messages } = promptOf({
      system: [text('Be short.'), text('In English.')],
      messages: [
        { role: 'user', content: [text('Who?'), text('Where?')] },
        {
          role: 'assistant',
          content: [thought, text('I look.'), call, { ...call, id: 'toolu_2', cache_control }],
        },
        {
          role: 'user',
          content: [
            { ...result, cache_control, is_error: false },
            { ...result, tool_use_id: 'toolu_2', content: [text('A buoy.')] },
            text('And?'),
            text('Well?'),
          ],
        },
        { role: 'system', content: 'Be kind.' },
      ],
    })
    const called = { name: 'look', arguments: '{"at":1}' }
    expect(messages).toEqual([
      { role: 'system', content: 'Be short.\nIn English.' },
      { role: 'user', content: 'Who?\nWhere?' },
      {
        ...{ role: 'assistant', content: 'I look.' },
        tool_calls: [
          { id: 'toolu_1', ...called },
          { id: 'toolu_2', ...called },
        ],
      },
      { role: 'tool', tool_call_id: 'toolu_1', content: 'A gull.' },
      { role: 'tool', tool_call_id: 'toolu_2', content: 'A buoy.' },
      { role: 'user', content: 'And?\nWell?' },
      { role: 'system', content: 'Be kind.' },
    ])
  })

  it('is that of a text, without what is empty', () => {
    const empty = { system: '', tools: [], stop_sequences: [''], output_config: {} }
    expect(promptOf({ ...empty, tool_choice: { type: 'auto' } })).toEqual(promptOfText('Who?'))
  })

  it('has tools, the choice among them, the form of the answer and where it ends', () => {
    const schema = { type: 'object', properties: { b: {}, a: {} } }
    const more = {
      tools: [{ ...look, type: 'custom', description: 'Looks.', strict: true, ...quiet }],
      tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true },
      output_config: { effort: 'low', format: { type: 'json_schema', schema } },
      stop_sequences: ['END'],
    }
    const tool = { name: 'look', description: 'Looks.', parameters: { type: 'object' } }
    expect(promptOf(more)).toEqual({
      ...promptOfText('Who?'),
      ...{ tools: [{ ...tool, strict: true }], tool_choice: { name: 'look' } },
      ...{ parallel_tool_calls: false, reasoning_effort: 'low', stop: ['END'] },
      response_format: { type: 'json_schema', name: 'answer', schema, strict: true },
    })
    const choices = ['auto', 'any', 'none'].map(
      (type) => promptOf({ tools: [look], tool_choice: { type } }).tool_choice,
    )
    expect(choices).toEqual(['auto', 'required', 'none'])
    const long = read({ max_tokens: 64_000 })
    expect([long.maxOutputTokens, long.ignored]).toEqual([8_192, ['max_tokens (at most 8192)']])
    expect(read(more, true).ignored).toEqual([])
  })

  it('leaves out what cannot be honoured and names it, unless the gateway is strict', () => {
    const conversation = [
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: [thought, call] },
      { role: 'user', content: [{ ...result, is_error: true }] },
    ]
    const more = {
      ...{ temperature: 1, top_k: 40, thinking: { type: 'enabled', budget_tokens: 1_024 } },
      ...{ metadata: { user_id: 'u' }, service_tier: 'auto', cache_control, mcp_servers: [] },
      tools: [
        { ...look, defer_loading: true },
        { type: 'web_search_20250305', name: 'search' },
      ],
      messages: conversation,
    }
    expect(read(more).ignored).toEqual([
      ...['temperature', 'top_k', 'thinking', 'metadata', 'service_tier', 'cache_control'],
      ...['mcp_servers', 'tools[0].defer_loading', 'messages[1].content[0]'],
      ...['messages[2].content[0].is_error', 'tools[1] (web_search_20250305)'],
    ])
    expect(promptOf(more).tools).toEqual([{ name: 'look', parameters: { type: 'object' } }])
    const refused: readonly (readonly [object, readonly string[]])[] = [
      [{ temperature: 1 }, ['temperature', 'unsupported_value']],
      [{ thinking: { type: 'adaptive' } }, ['thinking.type', 'unsupported_value']],
      [{ mcp_servers: [] }, ['mcp_servers', 'unknown_parameter']],
      [{ tools: more.tools.slice(1) }, ['tools[0] (web_search_20250305)', 'unsupported_value']],
      [{ messages: conversation }, ['messages[1].content[0]', 'unsupported_value']],
      [{ max_tokens: 8_193 }, ['max_tokens (at most 8192)', 'unsupported_value']],
    ]
    for (const [part, refusal] of refused) {
      expect([part, refusalOf(part, true)]).toEqual([part, refusal])
    }
    const same = { temperature: 0, top_p: 1, top_k: 1, thinking: { type: 'disabled' } }
    expect(refusalOf({ ...same, metadata: {}, service_tier: 'auto' }, true)).toBeUndefined()
  })

  it('refuses images, documents, threads and wrong values, and names the place', () => {
    const image = { type: 'image', source: { type: 'url', url: 'https://a' } }
    const ask = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
    const called = [
      { role: 'user', content: 'Who?' },
      { role: 'assistant', content: [call] },
    ]
    const cases: readonly (readonly [object, readonly string[]])[] = [
      [ask(image), ['messages[0].content[0].type', 'unsupported_value']],
      [ask({ type: 'document' }), ['messages[0].content[0].type', 'unsupported_value']],
      [
        ask({ ...result, content: [image] }),
        ['messages[0].content[0].content[0].type', 'unsupported_value'],
      ],
      [ask(result), ['messages[0]', 'invalid_value']],
      [{ messages: called }, ['messages', 'invalid_value']],
      [
        { messages: [...called, { role: 'user', content: [text('x'), result] }] },
        ['messages[2]', 'invalid_value'],
      ],
      [{ messages: [] }, ['messages', 'invalid_value']],
      [{ system: [image] }, ['system[0].type', 'invalid_value']],
      [{ system: '\ud800' }, ['system', 'invalid_value']],
      [{ tools: [{ name: 'look' }] }, ['tools[0].input_schema', 'invalid_value']],
      [{ tools: [look, look] }, ['tools', 'invalid_value']],
      [{ tool_choice: { type: 'any' } }, ['tool_choice', 'invalid_value']],
      [{ stop_sequences: ['x'.repeat(257)] }, ['stop_sequences[0]', 'invalid_value']],
      [{ max_tokens: 0 }, ['max_tokens', 'invalid_value']],
      [{ thread: { type: 'create' } }, ['thread', 'thread_unsupported_request']],
      [{ compaction: { type: 'summarize' } }, ['compaction', 'unsupported_value']],
    ]
    for (const [more, refusal] of cases) expect([more, refusalOf(more)]).toEqual([more, refusal])
  })
})

import { afterEach, describe, expect, it } from 'vitest'
import { parseAnswer } from '../../../lib/answer.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { needsOf } from '../../../lib/prompt-needs.ts'
import { takenBy } from '../../../lib/providers.ts'
import type { PromptDocument } from '../../../lib/schemas/prompt.ts'
import { PromptPart } from '../../../lib/schemas/prompt-needs.ts'
import { systemClock } from '../../../lib/system.ts'
import { createAnthropic } from '../../../node/inference/anthropic.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { samplePrompt } from '../../sample-prompt.ts'
import { recordingLog } from '../fakes.ts'

const makers = { openai: createOpenAi, anthropic: createAnthropic }
type Name = keyof typeof makers
type Body = Record<string, unknown>
const texts: Record<Name, unknown> = {
  openai: { choices: [{ message: { role: 'assistant', content: 'Yes.' } }] },
  anthropic: { type: 'message', content: [{ type: 'text', text: 'Yes.' }] },
}

const calls: Record<Name, unknown> = {
  openai: {
    choices: [
      {
        finish_reason: 'tool_calls',
        message: {
          content: 'I look.',
          tool_calls: [{ id: 'a', function: { name: 'look', arguments: '{ "b": 1, "a": [] }' } }],
        },
      },
    ],
  },
  anthropic: {
    content: [
      { type: 'text', text: 'I look.' },
      { type: 'tool_use', id: 'b', name: 'look', input: { b: 1, a: [] } },
    ],
    stop_reason: 'tool_use',
  },
}

let server: LocalServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

type Reply = (body: Body) => readonly [status: number, json: unknown]

async function sealedBy(
  name: Name,
  prompt: PromptDocument,
  reply: Reply = () => [200, texts[name]],
): Promise<string> {
  server = await startServer((response, { body }) =>
    answerJson(response, ...reply(JSON.parse(body) as Body)),
  )
  const provider = makers[name]({
    ...{ name, apiKey: 'a-key', keyVariable: 'A_KEY', baseUrl: `${server.url}/v1` },
    ...{ clock: systemClock, log: recordingLog(), firstBackoffMs: 5 },
  })
  const { text, ended } = await provider.complete({ model: 'm', prompt, maxOutputTokens: 9 })
  expect(ended).toBe(parseAnswer(text)?.finish_reason ?? 'stop')
  return text
}

/** What the provider was sent. */
async function ask(name: Name, prompt: PromptDocument, reply?: Reply): Promise<Body> {
  await sealedBy(name, prompt, reply)
  return JSON.parse(server!.seen.at(-1)!.body) as Body
}

const refusalOf = (name: Name, prompt: PromptDocument, reply?: Reply) =>
  ask(name, prompt, reply).then(
    () => 'answered',
    ({ code, message, retryable }: { code: string; message: string; retryable: boolean }) => {
      expect(retryable).toBe(false)
      return [code, message.replace(/^.*\/v1 /, '')]
    },
  )

const { seed: _, ...withoutSeed } = samplePrompt
const user = { role: 'user', content: 'Who?' } as const
const prompt = (more: Partial<PromptDocument>): PromptDocument => ({
  ...{ version: 1, messages: [user] },
  ...more,
})

const streamed = { stream: true, stream_options: { include_usage: true } }

describe('a prompt document at OpenAI', () => {
  it('has each part where that interface has it', async () => {
    const call = (id: string, port: string) => ({
      ...{ id, type: 'function' },
      function: { name: 'departures', arguments: `{"port":"${port}"}` },
    })
    const { schema, ...named } = {
      ...{ name: 'times', description: 'Times by port', strict: true },
      schema: { type: 'object', properties: { Kiel: { type: 'string' } } },
    }
    expect(await ask('openai', samplePrompt)).toEqual({
      model: 'm',
      max_tokens: 9,
      temperature: 0,
      ...streamed,
      seed: 7,
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'When does the ferry leave?' },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [call('call_1', 'Kiel'), call('call_2', 'Oslo')],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '9:10' },
        { role: 'tool', tool_call_id: 'call_2', content: '14:00' },
        { role: 'user', content: 'And in short?' },
      ],
      tools: [{ type: 'function', function: samplePrompt.tools![0] }],
      tool_choice: 'none',
      response_format: { type: 'json_schema', json_schema: { ...named, schema } },
      stop: ['\n---', 'END'],
    })
  })

  it('is sent with nothing else when it is one text', async () => {
    expect(await ask('openai', promptOfText('Who?'))).toEqual({
      ...{ model: 'm', max_tokens: 9, temperature: 0, seed: 0, ...streamed },
      messages: [user],
    })
    const text = prompt({ response_format: { type: 'text' } })
    expect(await ask('openai', text)).not.toHaveProperty('response_format')
  })

  it('may choose one tool, and ask for any JSON', async () => {
    const tools = [{ name: 'look' }]
    const asked = prompt({
      ...{ tools, tool_choice: { name: 'look' }, response_format: { type: 'json_object' } },
    })
    expect(await ask('openai', asked, () => [200, calls.openai])).toMatchObject({
      tools: [{ type: 'function', function: { name: 'look' } }],
      tool_choice: { type: 'function', function: { name: 'look' } },
      response_format: { type: 'json_object' },
    })
  })

  it('may ask for one call at most, and for a reasoning effort', async () => {
    const more = { parallel_tool_calls: false, reasoning_effort: 'low' } as const
    const asked = prompt({ tools: [{ name: 'look' }], ...more })
    expect(await ask('openai', asked)).toMatchObject(more)
  })

  it('is not supported where the model refuses a part that the client gave, and only then', async () => {
    const refusing =
      (param: string | null, message = ''): Reply =>
      () => [400, { error: { message, param, code: 'x' } }]
    for (const [reply, part] of [
      [refusing('response_format.json_schema'), 'response_format'],
      [refusing('tools[0].function'), 'tools'],
      [refusing(null, 'this model has no `stop` parameter'), 'stop'],
    ] as const) {
      expect(await refusalOf('openai', withoutSeed, reply)).toEqual([
        'prompt-not-supported',
        `does not take ${part} as it is given`,
      ])
    }
    expect((await refusalOf('openai', promptOfText('x'), refusing('stop')))[0]).toBe(
      'provider-refused',
    )
    expect((await refusalOf('openai', samplePrompt, refusing('messages')))[0]).toBe(
      'provider-refused',
    )
  })

  it('loses the usual seed at a model that takes none, and never the client’s', async () => {
    const noSeed: Reply = (body) =>
      'seed' in body ? [400, { error: { message: 'no seed', param: 'seed' } }] : [200, texts.openai]
    expect(await ask('openai', promptOfText('x'), noSeed)).not.toHaveProperty('seed')
    expect(await refusalOf('openai', prompt({ seed: 0 }), noSeed)).toEqual([
      'prompt-not-supported',
      'does not take seed as it is given',
    ])
  })
})

describe('a request to a provider', () => {
  it.each(['openai', 'anthropic'] as const)(
    'of %s has only the headers that each has',
    async (name) => {
      const headersFor = async (text: string) => {
        await ask(name, promptOfText(text))
        const { path, headers } = server!.seen[0]!
        await server!.close()
        const { host: _, 'content-length': __, ...rest } = headers
        return { path, ...rest }
      }
      const sent = await headersFor('Who?')
      expect(await headersFor('Where, and when?')).toEqual(sent)
      const ofSdk = /^(x-stainless-[a-z-]+|user-agent|anthropic-version|authorization|x-api-key)$/
      const ofHttp = /^(path|accept(-encoding|-language)?|connection|content-type|sec-fetch-mode)$/
      for (const header of Object.keys(sent)) {
        expect(ofSdk.test(header) || ofHttp.test(header) || header).toBe(true)
      }
      expect(Object.values(sent).join()).not.toMatch(/Who|Where|0x/)
    },
  )
})

describe('a prompt with one part', () => {
  const withPart: Record<Exclude<PromptPart, 'teacher'>, Partial<PromptDocument>> = {
    json_object: { response_format: { type: 'json_object' } },
    json_schema: { response_format: { type: 'json_schema', name: 'x', schema: {} } },
    late_system: { messages: [user, { role: 'system', content: 'Now.' }] },
    names: { messages: [{ ...user, name: 'Ada' }] },
    parallel_tool_calls: {
      ...{ tools: [{ name: 'look' }], tool_choice: 'none', parallel_tool_calls: false },
    },
    reasoning_effort: { reasoning_effort: 'low' },
    seed: { seed: 7 },
    stop: { stop: ['END'] },
    tools: { tools: [{ name: 'look' }], tool_choice: 'none' },
  }
  for (const part of PromptPart.exclude(['teacher']).options) {
    it(`is taken by an adapter that is said to take ${part}, and by no other`, async () => {
      const asked = prompt(withPart[part])
      expect(needsOf(asked)?.parts).toContain(part)
      for (const name of ['openai', 'anthropic'] as const) {
        const model = name === 'openai' && part === 'reasoning_effort' ? 'gpt-5' : 'm'
        const isTaken = takenBy(`${name}:${model}`).parts.includes(part)
        const refusal = isTaken ? 'answered' : ['prompt-not-supported', expect.any(String)]
        expect(await refusalOf(name, asked)).toEqual(refusal)
        await server?.close()
      }
    })
  }
})

describe('a prompt document at Anthropic', () => {
  it('has each part where that interface has it', async () => {
    const use = (id: string, port: string) => ({
      ...{ type: 'tool_use', id, name: 'departures', input: { port } },
    })
    const { name, description, parameters, strict } = samplePrompt.tools![0]!
    expect(await ask('anthropic', withoutSeed)).toEqual({
      model: 'm',
      max_tokens: 9,
      stream: true,
      system: [{ type: 'text', text: 'Be short.' }],
      messages: [
        { role: 'user', content: 'When does the ferry leave?' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            use('call_1', 'Kiel'),
            use('call_2', 'Oslo'),
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'call_1', content: '9:10' },
            { type: 'tool_result', tool_use_id: 'call_2', content: '14:00' },
          ],
        },
        { role: 'user', content: 'And in short?' },
      ],
      tools: [{ name, description, strict, input_schema: parameters }],
      tool_choice: { type: 'none' },
      output_config: {
        format: {
          type: 'json_schema',
          schema: {
            description: 'Times by port',
            ...{ type: 'object', properties: { Kiel: { type: 'string' } } },
          },
        },
      },
      stop_sequences: ['\n---', 'END'],
    })
  })

  it('is sent with nothing else when it is one text', async () => {
    const body = { model: 'm', max_tokens: 9, messages: [user], stream: true }
    expect(await ask('anthropic', promptOfText('Who?'))).toEqual(body)
  })

  it('may choose a tool, also one without arguments', async () => {
    const tools = [{ name: 'look' }]
    const reply: Reply = ({ tool_choice: { type } = { type: '' } }: { tool_choice?: Body }) => [
      200,
      (type === 'none' ? texts : calls).anthropic,
    ]
    for (const [tool_choice, sent] of [
      ['auto', { type: 'auto' }],
      ['required', { type: 'any' }],
      [{ name: 'look' }, { type: 'tool', name: 'look' }],
    ] as const) {
      expect(await ask('anthropic', prompt({ tools, tool_choice }), reply)).toMatchObject({
        tools: [{ name: 'look', input_schema: { type: 'object' } }],
        tool_choice: sent,
      })
    }
    const one = { disable_parallel_tool_use: true }
    for (const [choice, sent] of [
      [{}, { type: 'auto', ...one }],
      [{ tool_choice: 'required' }, { type: 'any', ...one }],
      [{ tool_choice: 'none' }, { type: 'none' }],
    ] as const) {
      const asked = prompt({ tools, ...choice, parallel_tool_calls: false })
      expect((await ask('anthropic', asked, reply)).tool_choice).toEqual(sent)
    }
  })

  it('has the reasoning effort of a prompt, as far as the interface knows it', async () => {
    expect(await ask('anthropic', prompt({ reasoning_effort: 'high' }))).toMatchObject({
      output_config: { effort: 'high' },
    })
    expect(await refusalOf('anthropic', prompt({ reasoning_effort: 'minimal' }))).toEqual([
      'prompt-not-supported',
      'does not take the reasoning effort minimal',
    ])
  })

  const call = { id: 'a', name: 'look', arguments: '[]' }
  it.each<readonly [string, Partial<PromptDocument>]>([
    ['a seed', { seed: 0 }],
    ['the response format json_object', { response_format: { type: 'json_object' } }],
    ['a stop that is white space', { stop: ['END', '\n'] }],
    ['names of speakers', { messages: [{ ...user, name: 'ann' }] }],
    ['an empty message', { messages: [{ role: 'user', content: '' }] }],
    ['a prompt of system messages alone', { messages: [{ role: 'system', content: 'x' }] }],
    ['a system message after others', { messages: [user, { role: 'system', content: 'x' }] }],
    [
      'a call of a tool whose arguments are no object of JSON',
      {
        messages: [
          user,
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'a', content: '' },
        ],
      },
    ],
  ])('is not supported with %s, and is not sent', async (what, more) => {
    expect(await refusalOf('anthropic', prompt(more))).toEqual([
      'prompt-not-supported',
      `does not take ${what}`,
    ])
    expect(server!.seen).toEqual([])
  })
})

describe('an answer that was cut off', () => {
  const content = '{"a": 1'
  const cut: readonly [Name, string, unknown][] = [
    ['openai', 'length', { choices: [{ finish_reason: 'length', message: { content } }] }],
    ...['max_tokens', 'model_context_window_exceeded'].map(
      (stop_reason): [Name, string, unknown] => [
        'anthropic',
        stop_reason,
        { content: [{ type: 'text', text: content }], stop_reason },
      ],
    ),
  ]
  it.each(cut)('says so, by %s with %s', async (name, _reason, said) => {
    const schema = { type: 'json_schema', name: 'a', schema: { type: 'object' } } as const
    const sealed = await sealedBy(name, prompt({ response_format: schema }), () => [200, said])
    expect(JSON.parse(sealed)).toEqual({ version: 1, content, finish_reason: 'length' })
  })
})

describe('an answer that calls a tool', () => {
  it.each(['openai', 'anthropic'] as const)('of %s is sealed in one spelling', async (name) => {
    const asked = prompt({ tools: [{ name: 'look' }] })
    expect(await sealedBy(name, asked, () => [200, calls[name]])).toBe(
      '{"finish_reason":"tool_calls","tool_calls":[{"arguments":"{\\"a\\":[],\\"b\\":1}","name":"look"}],"version":1}',
    )
  })

  it.each(['openai', 'anthropic'] as const)('of %s is refused where none may', async (name) => {
    const asked = prompt({ tools: [{ name: 'look' }], tool_choice: 'none' })
    expect(await refusalOf(name, asked, () => [200, calls[name]])).toEqual([
      'prompt-not-supported',
      'called a tool, which it may not',
    ])
    expect(server!.seen).toHaveLength(1)
  })

  it.each(['openai', 'anthropic'] as const)(
    'of %s is handed on when the prompt has no such tool: an agent corrects its model',
    async (name) => {
      const asked = prompt({ tools: [{ name: 'see' }] })
      const sealed = await sealedBy(name, asked, () => [200, calls[name]])
      expect(JSON.parse(sealed).tool_calls[0].name).toBe('look')
    },
  )

  const calling = (name: string, written: unknown) => {
    const called = { id: 'a', type: 'function', function: { name, arguments: written } }
    return { choices: [{ finish_reason: 'tool_calls', message: { tool_calls: [called] } }] }
  }
  it.each([
    [{ city: 'Oslo' }, '{"city":"Oslo"}'],
    ['', '{}'],
    [' ', '{}'],
    [null, '{}'],
    [undefined, '{}'],
  ])('with the arguments %j has them as JSON text', async (written, sealed) => {
    const asked = prompt({ tools: [{ name: 'look' }] })
    const answer = await sealedBy('openai', asked, () => [200, calling('look', written)])
    expect(JSON.parse(answer).tool_calls[0].arguments).toBe(sealed)
  })

  const demands = [
    ['openai', 'required', 'called no tool, although the prompt demands it'],
    ['anthropic', 'required', 'called no tool, although the prompt demands it'],
    ['openai', { name: 'look' }, 'called no tool, although the prompt demands it'],
    ['openai', { name: 'see' }, 'called another tool than the prompt demands'],
  ] as const
  it.each(demands)('is demanded of %s by the choice %j', async (name, choice, why) => {
    const tools = [{ name: 'look' }, { name: 'see' }]
    const asked = prompt({ tools, tool_choice: choice })
    const said = why.startsWith('called no') ? texts : calls
    const refused = await refusalOf(name, asked, () => [200, said[name]])
    expect(refused).toEqual(['prompt-not-supported', why])
    expect(server!.seen).toHaveLength(1)
  })

  it('may be missing from an answer that was cut, although it is demanded', async () => {
    const asked = prompt({ tools: [{ name: 'look' }], tool_choice: 'required' })
    const cut = { choices: [{ finish_reason: 'length', message: { content: 'I will lo' } }] }
    const sealed = await sealedBy('openai', asked, () => [200, cut])
    expect(JSON.parse(sealed)).toMatchObject({ content: 'I will lo', finish_reason: 'length' })
  })

  it('is the first one alone where the prompt asks for one at a time', async () => {
    const tool_calls = ['Oslo', 'Rome'].map((city) => ({
      function: { name: 'look', arguments: { city } },
    }))
    const asked = prompt({ tools: [{ name: 'look' }], parallel_tool_calls: false })
    const sealed = await sealedBy('openai', asked, () => [
      200,
      { choices: [{ message: { tool_calls } }] },
    ])
    expect(JSON.parse(sealed).tool_calls).toEqual([{ name: 'look', arguments: '{"city":"Oslo"}' }])
  })

  it('by a text that cannot be a name is refused', async () => {
    for (const name of ['', 'a\nb', 'é', 'a'.repeat(129)]) {
      const asked = prompt({ tools: [{ name: 'look' }] })
      expect(await refusalOf('openai', asked, () => [200, calling(name, '{}')])).toEqual([
        'prompt-not-supported',
        'called a tool by what cannot be a name',
      ])
    }
  })

  it.each(['openai', 'anthropic'] as const)(
    'of another name comes back to %s under one that hosted APIs take',
    async (name) => {
      const call = { id: 'a', name: 'functions.get weather', arguments: '{}' }
      const asked = prompt({
        messages: [
          user,
          { role: 'assistant', tool_calls: [call] },
          { role: 'tool', tool_call_id: 'a', content: 'no such tool' },
        ],
      })
      const text = {
        openai: [{ message: { content: 'x' } }],
        anthropic: [{ type: 'text', text: 'x' }],
      }
      await sealedBy(name, asked, () => [200, { choices: text.openai, content: text.anthropic }])
      expect(server!.seen[0]!.body).toContain('"functions_get_weather"')
    },
  )
})

describe('an answer in parts', () => {
  it('is the text of its parts, without the thoughts', async () => {
    const content = [
      { type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] },
      { type: 'text', text: 'It is ' },
      { type: 'text', text: '42' },
    ]
    const said = { choices: [{ finish_reason: 'stop', message: { content } }] }
    expect(await sealedBy('openai', prompt({}), () => [200, said])).toBe('It is 42')
  })
})

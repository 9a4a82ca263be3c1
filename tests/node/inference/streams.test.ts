import type { ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { promptOfText } from '../../../lib/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { createAnthropic } from '../../../node/inference/anthropic.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { Completion, Usage } from '../../../node/inference/provider.ts'
import { type LocalServer, startServer } from '../../local-server.ts'
import { recordingLog } from '../fakes.ts'

const makers = { openai: createOpenAi, anthropic: createAnthropic }
type Name = keyof typeof makers

let server: LocalServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

/** Asks a server that sends this text as its body, in a lease. */
async function ask(
  name: Name,
  send: string | ((response: ServerResponse) => unknown),
  more: Partial<Completion> = {},
  headers: Record<string, string> = { 'content-type': 'text/event-stream' },
) {
  server = await startServer((response) => {
    response.writeHead(200, headers)
    if (typeof send === 'string') response.end(send)
    else send(response)
  })
  const provider = makers[name]({
    ...{ name, apiKey: 'a-key', keyVariable: 'A_KEY', baseUrl: `${server.url}/v1` },
    ...{ clock: systemClock, log: recordingLog(), silenceMs: 300 },
  })
  const asked = { model: 'm', prompt: promptOfText('Two?'), maxOutputTokens: 99 }
  return await provider.complete({ ...asked, leftMs: () => 60_000, ...more })
}

const failureOf = (work: Promise<unknown>) =>
  work.then(
    () => ['answered'],
    ({ code, message }: { code: string; message: string }) => [
      code,
      message.replace(/.*\/v1 /, ''),
    ],
  )

const data = (...events: unknown[]) =>
  events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const delta = (said: object, finish_reason: string | null = null) => ({
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: said, finish_reason }],
})
const stop = delta({}, 'stop')
const used = { choices: [], usage: { prompt_tokens: 12, completion_tokens: 3 } }
const done = 'data: [DONE]\n\n'
const four = data(delta({ content: 'Fo' }), delta({ content: 'ur.' }))
const begun = {
  type: 'message_start',
  message: { content: [], usage: { input_tokens: 12, output_tokens: 1 } },
}
const block = (index: number, content_block: object, ...deltas: object[]) => [
  { type: 'content_block_start', index, content_block },
  ...deltas.map((one) => ({ type: 'content_block_delta', index, delta: one })),
  { type: 'content_block_stop', index },
]
const textDelta = (text: string) => ({ type: 'text_delta', text })
const ending = (stop_reason: string) => [
  { type: 'message_delta', delta: { stop_reason }, usage: { output_tokens: 3 } },
  { type: 'message_stop' },
]
const halves: Record<Name, string> = {
  openai: data(delta({ role: 'assistant', content: '' }), delta({ content: 'Half an ans' })),
  anthropic: data(begun, ...block(0, { type: 'text', text: '' }, textDelta('Half')).slice(0, 2)),
}
const wholes: Record<Name, string> = {
  openai: four + data(stop, used) + done,
  anthropic: data(
    begun,
    { type: 'ping' },
    ...block(0, { type: 'thinking', thinking: '' }, { type: 'thinking_delta', thinking: 'hm' }),
    ...block(1, { type: 'text', text: '' }, textDelta('Fo'), textDelta('ur.')),
    ...ending('end_turn'),
  ),
}

describe('a stream', () => {
  const notes = ': keep-alive\n\nevent: x\n\nid: 1\nretry: 5\ndata:\n\n'
  it.each([
    ['comments and empty events', notes + wholes.openai],
    ['an ending with white space', `${four + data(stop, used)}data: [DONE] \n\n`],
    ['another line break', wholes.openai.replaceAll('\n', '\r\n')],
    ['no empty lines', wholes.openai.replaceAll('\n\n', '\n')],
    ['no last line break', wholes.openai.trimEnd()],
    ['no choices in its count', four + data(stop, { ...used, choices: null }) + done],
    ['other text after its end', `${four + data(stop, used)}data: [done]\n\n`],
    ['no [DONE]', four + data(stop, used)],
    ['an empty reason after the reason', four + data(stop, delta({}, ''), used)],
    ['no reason why it ended', four + data(used) + done],
    ['a reason in each event', data(delta({ content: 'Four.' }, 'stop'), used) + done],
    [
      'a reason in each event, and no [DONE]',
      data(delta({ content: 'Fo' }, 'stop'), delta({ content: 'ur.' }, 'stop'), used),
    ],
    ['an event of several lines', `${four}data: {"choices":\ndata: []}\n\n${data(stop, used)}`],
    ['thoughts', data(delta({ reasoning_content: 'hm', content: null })) + wholes.openai],
    [
      'the whole answer so far in each event',
      data({
        choices: [
          { delta: { content: 'Four.' }, message: { content: 'Four.' }, finish_reason: 'stop' },
        ],
        usage: used.usage,
      }),
    ],
  ])('with %s is the text of its events, and their tokens', async (_, body) => {
    expect(await ask('openai', body)).toEqual({
      ...{ text: 'Four.', ended: 'stop' },
      usage: { input_tokens: 12, output_tokens: 3 },
    })
  })

  it.each(['openai', 'anthropic'] as const)('of %s may come in any pieces', async (name) => {
    const body = Buffer.from(wholes[name].replace('Fo', 'Fö').replaceAll('\n\n', '\r\n\r\n'))
    const { text } = await ask(name, async (response) => {
      for (const byte of body) {
        response.write(Buffer.of(byte))
        await nextTurn()
      }
      response.end()
    })
    expect(text).toBe('Föur.')
  })

  it.each(['openai', 'anthropic'] as const)('of %s may have any content type', async (name) => {
    for (const type of ['application/json', 'text/plain']) {
      expect((await ask(name, wholes[name], {}, { 'content-type': type })).text).toBe('Four.')
      await server?.close()
    }
    expect(await ask(name, wholes[name], {}, {})).toMatchObject({
      usage: { input_tokens: 12, output_tokens: 3 },
    })
  })

  it.each(['openai', 'anthropic'] as const)(
    'of %s ends with its last event, though the connection stays open',
    async (name) => {
      const open = (response: ServerResponse) => response.write(wholes[name])
      expect((await ask(name, open)).text).toBe('Four.')
    },
  )

  it('may be large when its events repeat the answer, but the kept part may not', async () => {
    const message = { content: 'x'.repeat(1_000_000) }
    const part = data({ choices: [{ delta: { content: '' }, message }] })
    expect((await ask('openai', part.repeat(18) + wholes.openai)).text).toBe('Four.')
    await server?.close()
    for (const name of ['openai', 'anthropic'] as const) {
      const [first, ...more] = {
        openai: [delta(message)],
        anthropic: [begun, ...block(0, { type: 'text', text: '' }, textDelta(message.content))],
      }[name]
      const body = data(first) + data(...(more.length > 0 ? more : [first])).repeat(18)
      expect((await failureOf(ask(name, body)))[0]).toBe('provider-answer-too-large')
      if (name === 'openai') await server?.close()
    }
  })

  it('of Anthropic may have blocks without an index', async () => {
    const blocks = ['Fo', 'ur.'].flatMap((text) =>
      block(0, { type: 'text', text: '' }, textDelta(text)).map(({ index: _, ...one }) => one),
    )
    expect((await ask('anthropic', data(begun, ...blocks, ...ending('end_turn')))).text).toBe(
      'Four.',
    )
  })

  it('may end with a lone carriage return', async () => {
    const body = wholes.openai.trimEnd().replaceAll('\n', '\r\n')
    expect((await ask('openai', `${body}\r`)).text).toBe('Four.')
  })

  it('is whole when the connection breaks after its end', async () => {
    const pieces = [new TextEncoder().encode(four + data(stop))]
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const piece = pieces.shift()
      if (piece) controller.enqueue(piece)
      else controller.error(new TypeError('terminated'))
    }
    const provider = createOpenAi({
      ...{ name: 'x', apiKey: 'a-key', keyVariable: 'A_KEY', baseUrl: 'https://provider.test/v1' },
      ...{ clock: systemClock, log: recordingLog() },
      fetch: async () => new Response(new ReadableStream({ pull }, { highWaterMark: 0 })),
    })
    const asked = { model: 'm', prompt: promptOfText('Two?'), maxOutputTokens: 99 }
    expect((await provider.complete({ ...asked, leftMs: () => 60_000 })).text).toBe('Four.')
  })

  it.each(['openai', 'anthropic'] as const)(
    'of %s that breaks off is refused, and is asked for once',
    async (name) => {
      const broken = ['provider-unreachable', 'broke off in the middle of its answer']
      for (const end of ['', 'data: {"cho', ': x\n\n']) {
        expect(await failureOf(ask(name, halves[name] + end))).toEqual(broken)
        expect(server?.seen).toHaveLength(1)
        await server?.close()
      }
      const reset = (response: ServerResponse) =>
        response.write(halves[name], () => response.destroy())
      expect((await failureOf(ask(name, reset)))[0]).toBe('provider-unreachable')
    },
  )

  it.each([
    ['the reason in each part', data(...['Ha', 'lf'].map((content) => delta({ content }, 'stop')))],
    ['a reason that is the word null', data(delta({ content: 'Half' }, 'null'))],
    ['a [DONE] without a reason and a count', halves.openai + done],
  ])('with %s has not ended', async (_, body) => {
    expect((await failureOf(ask('openai', body)))[0]).toBe('provider-unreachable')
  })

  const overloaded = { type: 'overloaded_error', message: 'Overloaded' }
  it.each<readonly [string, Name, string, string]>([
    ['an error', 'openai', data({ error: { code: 429, message: 'x' } }), 'provider-rate-limited'],
    [
      'an error in a choice',
      'openai',
      data({ choices: [{ delta: {}, error: { code: 502 } }] }),
      'provider-unavailable',
    ],
    [
      'an error by its event',
      'openai',
      'event: error\ndata: {"code":402}\n\n',
      'provider-quota-used-up',
    ],
    ['an error by its field', 'openai', 'error: {"code":429}\n\n', 'provider-rate-limited'],
    [
      'overload',
      'anthropic',
      `event: error\n${data({ type: 'error', error: overloaded })}`,
      'provider-unavailable',
    ],
    [
      'a refusal',
      'openai',
      data(delta({ refusal: 'I can' }), delta({ refusal: 'not' }, 'stop')),
      'provider-refused',
    ],
    ['a refusal', 'anthropic', data(...ending('refusal')), 'provider-refused'],
    ['a filter', 'openai', data(delta({}, 'content_filter')), 'provider-refused'],
    ['a filter', 'anthropic', data(...ending('guardrail_intervened')), 'provider-refused'],
    ["Zhipu's filter", 'openai', data(delta({}, 'sensitive')), 'provider-refused'],
    ["Google's filter", 'openai', data(delta({}, 'RECITATION')), 'provider-refused'],
    ...[
      'insufficient_system_resource',
      'network_error',
      'function_call_filter: MALFORMED_FUNCTION_CALL',
    ].map((why) => [why, 'openai', data(delta({}, why)) + done, 'provider-unavailable'] as const),
    ['other text', 'openai', 'data: hello\n\n', 'provider-protocol-wrong'],
    ['other JSON', 'openai', data({ choices: 5 }), 'provider-protocol-wrong'],
  ])('that ends with %s is none (%s)', async (_, name, end, code) => {
    expect((await failureOf(ask(name, halves[name] + end)))[0]).toBe(code)
    expect(server?.seen).toHaveLength(1)
  })

  it('of events of another form is another protocol', async () => {
    const work = ask('openai', data({ type: 'ping' }) + done)
    expect((await failureOf(work))[0]).toBe('provider-protocol-wrong')
  })

  it('tells the tokens also of an answer that is of no use', async () => {
    const heard: Usage[] = []
    const onUsage = (usage: Usage) => void heard.push(usage)
    await failureOf(ask('openai', data(delta({}, 'content_filter'), used) + done, { onUsage }))
    expect(heard).toEqual([{ input_tokens: 12, output_tokens: 3 }])
  })
})

describe('a call of a tool in a stream', () => {
  const part = (said: object) => delta({ tool_calls: [said] })
  const called = (name: string | undefined, written: unknown, more: object = {}) =>
    part({ ...more, function: { name, arguments: written } })
  const oslo = { name: 'look', arguments: '{"city":"Oslo"}' }
  const rome = { name: 'look', arguments: '{"city":"Rome"}' }
  const [a, b] = [
    { index: 0, id: 'a' },
    { index: 1, id: 'b' },
  ]
  it.each<readonly [string, readonly object[]]>([
    [
      'by index',
      [
        called('look', '', a),
        called(undefined, '{"city":', { index: 0 }),
        called('look', '{"city":"Rome"}', b),
        called(undefined, '"Oslo"}', { index: 0 }),
      ],
    ],
    [
      'by id',
      [
        called('look', '{"city":', { id: 'a' }),
        called('look', '"Oslo"}', { id: 'a' }),
        called('look', '{"city":"Rome"}', { id: 'b' }),
      ],
    ],
    [
      'by neither',
      [called('look', '{"city":"Oslo"}'), called('look', '{"ci'), called(undefined, 'ty":"Rome"}')],
    ],
    [
      'whole, of one index',
      [
        called('look', { city: 'Oslo' }, a),
        called('look', { city: 'Rome' }, { index: 0, id: 'b' }),
      ],
    ],
    ...[{ id: '' }, { id: 'look' }, { id: 'a', index: undefined }].map(
      (same) =>
        [
          `whole, all with ${JSON.stringify(same)}`,
          ['Oslo', 'Rome'].map((city) => called('look', { city }, { index: 0, ...same })),
        ] as const,
    ),
    [
      'with the name in each part',
      [
        called('look', '{"city":', a),
        called('look', '"Oslo"}', a),
        called('look', '', a),
        called('look', { city: 'Rome' }, b),
      ],
    ],
    [
      'of a new id in each part',
      [
        called('look', '{"city":', a),
        called(undefined, '"Oslo"}', { index: 0, id: 'x' }),
        called('look', { city: 'Rome' }, b),
      ],
    ],
    [
      'in one event',
      [
        delta({
          tool_calls: [
            { ...a, function: oslo },
            { ...b, function: rome },
          ],
        }),
      ],
    ],
  ])('is put together %s', async (_, events) => {
    const prompt = { ...promptOfText('Two?'), tools: [{ name: 'look' }] }
    const { text } = await ask('openai', data(...events, delta({}, 'tool_calls')) + done, {
      prompt,
    })
    expect(JSON.parse(text).tool_calls).toEqual([oslo, rome])
  })

  it('of another name is another call', async () => {
    const prompt = { ...promptOfText('Two?'), tools: [{ name: 'look' }, { name: 'wait' }] }
    const events = ['look', 'wait'].map((name) => called(name, {}, { index: 0, id: '' }))
    const body = data(...events, delta({}, 'tool_calls')) + done
    const { text } = await ask('openai', body, { prompt })
    expect(JSON.parse(text).tool_calls.map(({ name }: { name: string }) => name)).toEqual([
      'look',
      'wait',
    ])
  })

  it('of Anthropic is put together', async () => {
    const tool = { type: 'tool_use', id: 'a', name: 'look', input: {} }
    const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
    const events = [
      begun,
      ...block(0, tool, json(''), json('{"city":'), json('"Oslo"}')),
      ...block(1, tool),
      ...ending('tool_use'),
    ]
    const prompt = { ...promptOfText('Two?'), tools: [{ name: 'look' }] }
    const { text } = await ask('anthropic', data(...events), { prompt })
    expect(JSON.parse(text).tool_calls).toEqual([oslo, { name: 'look', arguments: '{}' }])
  })

  it('is one of at most 128', async () => {
    const events = Array.from({ length: 129 }, (_, index) => called('a', '', { index }))
    const prompt = { ...promptOfText('Two?'), tools: [{ name: 'look' }] }
    const work = ask('openai', data(...events), { prompt })
    expect((await failureOf(work))[0]).toBe('provider-answer-too-large')
  })
})

describe('an answer that has begun', () => {
  it('is silence when nothing more comes', async () => {
    const work = ask('openai', (response) => response.write(halves.openai))
    expect((await failureOf(work))[0]).toBe('provider-silent')
    expect(server?.seen).toHaveLength(1)
  })

  it.each(['openai', 'anthropic'] as const)('of %s is let go when the job ends', async (name) => {
    const stopped = new AbortController()
    let isClosed: Promise<unknown> = Promise.resolve()
    const work = ask(
      name,
      (response) => {
        isClosed = new Promise((resolve) => response.on('close', resolve))
        response.write(halves[name], () => stopped.abort(new Error('the lease is over')))
      },
      { signal: stopped.signal },
    )
    await expect(work).rejects.toThrow('the lease is over')
    await isClosed
  })
})

import { afterEach, describe, expect, it } from 'vitest'
import { promptOfText } from '../../../lib/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { createAnthropic } from '../../../node/inference/anthropic.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { Completion } from '../../../node/inference/provider.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { recordingLog } from '../fakes.ts'

type Body = Readonly<Record<string, unknown>>
type Refusal = (body: Body) => object | undefined

let server: LocalServer
afterEach(() => server.close())

/** A provider at a server that refuses some parameters with status 400, or else answers. */
async function providerThat(refuse: Refusal, create = createOpenAi) {
  server = await startServer((response, { body }) => {
    const error = refuse(JSON.parse(body) as Body)
    if (error) return answerJson(response, 400, { error })
    const content = [{ type: 'text', text: 'Four.' }]
    answerJson(response, 200, { choices: [{ message: { content } }], content })
  })
  const provider = create({
    ...{ name: 'x', apiKey: 'a-key', keyVariable: 'X_API_KEY', baseUrl: `${server.url}/v1` },
    ...{ clock: systemClock, log: recordingLog(), firstBackoffMs: 1 },
  })
  return async (text = 'Two?', more: Partial<Completion> = {}) => {
    const before = server.seen.length
    const asked = { model: 'm', prompt: promptOfText(text), maxOutputTokens: 8_192, ...more }
    await provider.complete(asked)
    return server.seen.slice(before).map(({ body }) => JSON.parse(body) as Body)
  }
}

const wantsOther =
  (wrong: string, other: string): Refusal =>
  (body) =>
    wrong in body
      ? { message: `Unsupported parameter: '${wrong}'. Use '${other}' instead.`, param: wrong }
      : undefined

describe('a parameter that the node chose and the provider refuses', () => {
  it('is the name of the limit: the other one is sent, from then on at once', async () => {
    const ask = await providerThat(wantsOther('max_tokens', 'max_completion_tokens'))
    expect(await ask()).toMatchObject([{ max_tokens: 8_192 }, { max_completion_tokens: 8_192 }])
    expect(await ask()).toMatchObject([{ max_completion_tokens: 8_192 }])
    expect(await ask('Two?', { model: 'other' })).toHaveLength(2)
  })

  it.each([
    'max_tokens is too large: 8192. This model supports at most 512 completion tokens, whereas you provided 8192.',
    "Invalid 'max_tokens': integer above maximum value. Expected a value <= 512, but got 8192 instead.",
    '`max_tokens` must be less than or equal to `512`, the maximum value for `max_tokens` is less than the `context_window`',
    'max_tokens: 8192 > 512, which is the maximum allowed number of output tokens for m',
    'Invalid max_tokens value, the valid range of max_tokens is [1, 512]',
    'max_tokens: the maximum value is 512',
    'max_tokens cannot exceed 512',
  ])('is the limit, which is lowered to what the words name: %s', async (message) => {
    for (const create of [createOpenAi, createAnthropic]) {
      const ask = await providerThat(
        ({ max_tokens: most }) => (Number(most) > 512 ? { message } : undefined),
        create,
      )
      expect(await ask()).toMatchObject([{ max_tokens: 8_192 }, { max_tokens: 512 }])
      expect(await ask()).toMatchObject([{ max_tokens: 512 }])
      expect(await ask('Two?', { maxOutputTokens: 99 })).toMatchObject([{ max_tokens: 99 }])
      if (create === createOpenAi) await server.close()
    }
  })

  it('is the stream, or its count of tokens', async () => {
    const ask = await providerThat(({ stream, stream_options: counts }) => {
      if (counts) return { message: 'Unrecognized request argument supplied: stream_options' }
      return stream ? { message: 'Streaming is not offered' } : undefined
    })
    const [, plain, whole] = await ask()
    expect(plain).toMatchObject({ stream: true })
    expect(plain).not.toHaveProperty('stream_options')
    expect(whole).not.toHaveProperty('stream')
    expect(await ask()).toHaveLength(1)
  })

  it('may be several, one after the other', async () => {
    const ask = await providerThat((body) => {
      const wrong = ['max_tokens', 'temperature', 'seed'].find((name) => name in body)
      return wrong === undefined ? undefined : { message: `no ${wrong}`, param: wrong }
    })
    expect(await ask()).toHaveLength(4)
    const [body] = await ask()
    expect(body).toEqual({
      ...{ max_completion_tokens: 8_192, messages: body?.messages, model: 'm' },
      ...{ stream: true, stream_options: { include_usage: true } },
    })
  })

  it('is not remembered where the words may be those of the prompt', async () => {
    const refuse: Refusal = ({ temperature, max_tokens: most }) =>
      temperature === undefined && Number(most) <= 1
        ? undefined
        : { message: 'Refused: "temperature", "max_tokens at most 1"' }
    const ask = await providerThat(refuse)
    await ask('Say: temperature, max_tokens at most 1')
    expect((await ask('Say: temperature, max_tokens at most 1'))[0]).toMatchObject({
      ...{ temperature: 0, max_tokens: 8_192 },
    })
  })

  const called = (name: string) => ({
    ...{ version: 1 as const, tools: [{ name: 'f' }] },
    messages: [
      ...promptOfText('Two?').messages,
      { role: 'assistant' as const, tool_calls: [{ id: 'c', name, arguments: '{}' }] },
      { role: 'tool' as const, tool_call_id: 'c', content: 'at most 2' },
    ],
  })
  it.each<readonly [string, Partial<Completion>, (body: Body) => object]>([
    ['quotes the whole request', {}, (body) => ({ message: `input: ${JSON.stringify(body)}` })],
    [
      "names a path in the client's part",
      {},
      () => ({ message: 'x', param: 'tools[0].function.parameters.properties.temperature' }),
    ],
    [
      'quotes a name as it is sent',
      { prompt: called('max tokens') },
      ({ max_tokens }) => (max_tokens ? { message: 'Tool max_tokens: at most 2' } : {}),
    ],
    [
      'is about one prompt',
      {},
      ({ max_tokens: most }) =>
        Number(most) > 50
          ? { message: 'at most 50 for a prompt of 970 tokens', param: 'max_tokens' }
          : {},
    ],
    ['is about the model', { model: 'x/seed-oss' }, () => ({ message: 'x/seed-oss is busy' })],
  ])('changes no other request when the refusal %s', async (_, more, refuse) => {
    const ask = await providerThat((body) => {
      const error = JSON.stringify(body).includes('"Hi"') ? {} : refuse(body)
      return 'message' in error ? error : undefined
    })
    await ask('Two?', more).catch(() => {})
    const [body] = await ask('Hi', { model: more.model ?? 'm' })
    expect(body).toMatchObject({ temperature: 0, seed: 0, stream: true, max_tokens: 8_192 })
  })

  it('is remembered alone, without the parameters that were left out before it', async () => {
    const ask = await providerThat(({ temperature, stream_options: counts }) => {
      if (temperature !== undefined) return { message: 'You wrote: temperature' }
      return counts ? { message: 'no', param: 'stream_options' } : undefined
    })
    expect(await ask('temperature')).toHaveLength(3)
    const [body] = await ask('temperature')
    expect(body).toMatchObject({ temperature: 0 })
    expect(body).not.toHaveProperty('stream_options')
  })

  it('is remembered from job to job when the provider names one after the other', async () => {
    const ask = await providerThat((body) => {
      const wrong = ['max_tokens', 'temperature', 'stream_options', 'seed'].find((n) => n in body)
      return wrong === undefined ? undefined : { message: `no ${wrong}`, param: wrong }
    })
    for (const outcome of ['refused', 'answered']) {
      let left = 3
      const mayCall = () => left-- > 0
      const work = ask('Two?', { mayCall }).then(
        () => 'answered',
        () => 'refused',
      )
      expect(await work).toBe(outcome)
    }
    expect(await ask()).toHaveLength(1)
  })

  it('ends the job when the provider refuses each name, or the job has used up its requests', async () => {
    const ask = await providerThat(() => ({ message: 'no max_tokens, no max_completion_tokens' }))
    await expect(ask()).rejects.toMatchObject({ code: 'provider-refused' })
    expect(server.seen).toHaveLength(2)
    let left = 1
    const mayCall = () => left-- > 0
    await expect(ask('Two?', { mayCall })).rejects.toMatchObject({ code: 'provider-unavailable' })
    expect(server.seen).toHaveLength(3)
    await expect(ask('Two?', { mayCall })).rejects.toMatchObject({ code: 'provider-unavailable' })
    expect(server.seen).toHaveLength(3)
  })

  it('is changed at most six times, though the provider names a lower limit each time', async () => {
    const ask = await providerThat(({ max_tokens: most }) => ({
      message: `max_tokens: at most ${Number(most) - 1}`,
    }))
    await expect(ask()).rejects.toMatchObject({ code: 'provider-refused' })
    expect(server.seen).toHaveLength(7)
  })
})

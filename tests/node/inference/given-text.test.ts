import { afterEach, describe, expect, it, vi } from 'vitest'
import { createNgrams, trainModels } from '../../../demo/ngram-server.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { type TeacherApi, takenBy } from '../../../lib/providers.ts'
import { systemClock } from '../../../lib/system.ts'
import { scoreOf } from '../../../lib/teacher.ts'
import { toldOf } from '../../../node/inference/given-text.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { aHash } from '../../branded.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'

const question = 'What is a receipt?'
let server: LocalServer | undefined

const models = await trainModels()
afterEach(async () => {
  await server?.close()
})

/** A provider whose server gives these replies, else is the n-gram model. */
async function provider(teacher: TeacherApi, reply?: unknown) {
  const ask = createNgrams({ models, kind: 'honest', noise: 0.01 })
  server = await startServer(async (response, { method, path, body, headers }) => {
    if (reply !== undefined) return answerJson(response, 200, reply)
    const request = new Request(`http://ngram${path}`, {
      method,
      body,
      headers: { authorization: headers.authorization ?? '' },
    })
    const answered = await ask(request)
    answerJson(response, answered.status, await answered.json())
  })
  return createOpenAi({
    ...{ name: 'vllm', baseUrl: `${server.url}/v1`, apiKey: 'one', keyVariable: 'VLLM_API_KEY' },
    ...{ clock: systemClock, log: { debug: () => {} }, teacher, firstBackoffMs: 1 },
  })
}

const weigh = async (teacher: TeacherApi, text: string, reply?: unknown) => {
  const { weigh: ask } = await provider(teacher, reply)
  return await ask?.({ model: 'ngram', prompt: promptOfText(question), text })
}

describe('a given text', () => {
  it('gets the same numbers by every way that a server has', async () => {
    const { complete } = await provider('echo')
    const { text } = await complete({
      ...{ model: 'ngram', prompt: promptOfText(question), maxOutputTokens: 60 },
    })
    await server?.close()
    const [one, other] = [await weigh('prompt_logprobs', text), await weigh('echo', text)]
    // The text is split anew.
    expect(one?.length).toBeGreaterThan(50)
    expect(other).toHaveLength(one?.length ?? 0)
    const hash = aHash(`0x${'ab'.repeat(32)}`)
    const scores = [one, other].map((told) => scoreOf(told ?? [], hash, new Uint8Array(32)))
    const [first, second] = await Promise.all(scores)
    expect(first?.agree).toBeGreaterThan(40)
    expect(second).toMatchObject({ n: first?.n, agree: first?.agree, gap: first?.gap })
  })

  it('is asked for as the end of the conversation, with one token that nobody reads', async () => {
    await weigh('prompt_logprobs', 'A lamp.')
    const [asked] = server?.seen ?? []
    expect(JSON.parse(asked?.body ?? '')).toEqual({
      model: 'ngram',
      messages: [
        { role: 'user', content: question },
        { role: 'assistant', content: 'A lamp.' },
      ],
      ...{ max_tokens: 1, temperature: 0, prompt_logprobs: 5, return_token_ids: true },
      ...{ add_generation_prompt: false, continue_final_message: true },
    })
  })

  it('counts among what the job took', async () => {
    const { weigh: ask } = await provider('echo')
    const onUsage = vi.fn()
    await ask?.({ model: 'ngram', prompt: promptOfText(question), text: 'A lamp.', onUsage })
    // Its own 5 tokens and 3 of the template before, 3 of the text and 1 after it.
    expect(onUsage.mock.calls).toEqual([[{ input_tokens: 11, output_tokens: 1 }]])
  })

  it('is found behind a template and before its end, also where the prompt has it', () => {
    const columns = (tokens: readonly string[], tops = true) => ({
      tokens,
      token_logprobs: tokens.map((_, at) => (at === 0 ? null : -at)),
      ...(tops && {
        top_logprobs: tokens.map((token, at) => (at === 0 ? null : { [token]: -at })),
      }),
    })
    const tokens = ['<u>', 'yes', ' no', '<a>\n', 'yes', ' no', '<e>']
    const echoed = { choices: [{ logprobs: columns(tokens) }] }
    expect(toldOf(echoed, 'echo', 'yes no').map(({ logprob }) => logprob)).toEqual([-4, -5])
    const together = { choices: [{}], prompt: [{ logprobs: columns(tokens) }] }
    expect(toldOf(together, 'echo', 'yes no')).toEqual(toldOf(echoed, 'echo', 'yes no'))
    const content = tokens.map((token, at) => ({
      ...{ token, logprob: -at, top_logprobs: [{ token, logprob: -at }] },
    }))
    const listed = { choices: [{ logprobs: { content } }] }
    expect(toldOf(listed, 'echo', 'yes no')).toEqual(toldOf(echoed, 'echo', 'yes no'))
    const bare = { choices: [{ logprobs: columns(tokens, false) }] }
    expect(() => toldOf(bare, 'echo', 'yes no')).toThrow(/no likeliest tokens/)
    expect(() => toldOf(echoed, 'echo', 'maybe')).toThrow(/another text/)
    expect(() => toldOf({ choices: [{}] }, 'echo', 'yes')).toThrow(/no log-probabilities/)
    expect(() => toldOf({ hello: 1 }, 'echo', 'yes')).toThrow(/another form/)
  })

  it('is not scored by a server that only answers', async () => {
    const plain = { choices: [{ message: { content: 'A lamp.' }, finish_reason: 'stop' }] }
    await expect(weigh('echo', 'A lamp.', plain)).rejects.toMatchObject({
      code: 'provider-protocol-wrong',
      message: expect.stringContaining('sent no log-probabilities of the given text'),
      hint: expect.stringMatching(/`echo`.*`teacher` to `prompt_logprobs`.*`takes\.parts`/),
    })
    // It would only be paid for again.
    expect(server?.seen).toHaveLength(1)
  })
})

it('who says that a text can be scored are models of providers that are known for it, and of servers set so', () => {
  const isTaken = (id: string, api?: TeacherApi) => takenBy(id, api).parts.includes('teacher')
  expect(['vllm:m', 'fireworks:m'].every((id) => isTaken(id))).toBe(true)
  expect(['openai:m', 'anthropic:m', 'together:m', 'mine:m'].some((id) => isTaken(id))).toBe(false)
  expect(isTaken('mine:m', 'prompt_logprobs')).toBe(true)
  expect(isTaken('anthropic:m', 'echo')).toBe(false)
})

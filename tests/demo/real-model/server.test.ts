import { afterEach, describe, expect, it } from 'vitest'
import { ContextExceeded, type RealModel } from '../../../demo/real-model/model.ts'
import { createServer } from '../../../demo/real-model/server.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { type LocalServer, startServer } from '../../local-server.ts'

let server: LocalServer | undefined
afterEach(() => server?.close())

/** Says each word of the prompt, until the word `wait`, after which only the signal ends it. */
const model: RealModel = {
  answer: async (messages, { maxTokens, onText, signal }) => {
    const words = messages.at(-1)?.content.match(/\s*\S+/g) ?? []
    if (words.length > 9) throw new ContextExceeded(words.length, 9)
    const said = words.slice(0, maxTokens)
    for (const word of said) {
      onText?.(word)
      if (word === 'wait') {
        await new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
        })
      }
    }
    const finish = said.length < words.length ? 'length' : 'stop'
    return { text: said.join(''), promptTokens: 7, answerTokens: said.length, finish }
  },
  weigh: async (_, text) => {
    const other = { id: 1, token: ' a', logprob: -0.5 }
    const told = [text.slice(0, 2), text.slice(2)].map((token, at) => ({
      ...{ id: 10 + at, token, logprob: -1 - at, top: [other] },
    }))
    return { prompt: [3, 4], told }
  },
}

const ask = (body: object, { longest = 2, signal = new AbortController().signal } = {}) => {
  const serve = createServer(model, 'small', longest)
  return serve(requestOf(body, signal))
}
const requestOf = (body: object, signal?: AbortSignal) =>
  new Request('http://model/v1/chat/completions', {
    method: 'POST',
    body: JSON.stringify({ model: 'small', ...body }),
    ...(signal && { signal }),
  })
const said = (content: string) => ({ messages: [{ role: 'user', content }] })

describe('the server of the real model', () => {
  it('asks the model once for the weights of a text that several nodes want', async () => {
    let calls = 0
    const counting: RealModel = {
      ...model,
      weigh: (...of) => {
        calls++
        return model.weigh(...of)
      },
    }
    const serve = createServer(counting, 'small')
    const weigh = (content: string) => {
      const messages = [...said('Who?').messages, { role: 'assistant', content }]
      return serve(requestOf({ messages, prompt_logprobs: 5 }))
    }
    const answers = await Promise.all(['Me', 'Me', 'You'].map(weigh))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(calls).toBe(2)
  })

  it('gives a node its answer, its usage and the log-probabilities of a text', async () => {
    const serve = createServer(model, 'small')
    server = await startServer(async (response, { method, path, body }) => {
      const answered = await serve(new Request(`http://model${path}`, { method, body }))
      response.writeHead(answered.status, Object.fromEntries(answered.headers))
      response.end(await answered.text())
    })
    const provider = createOpenAi({
      ...{ name: 'vllm', baseUrl: `${server.url}/v1`, apiKey: 'one', keyVariable: 'VLLM_API_KEY' },
      ...{ clock: systemClock, log: { debug: () => {} }, teacher: 'prompt_logprobs' },
    })
    const prompt = promptOfText('Mind the gap')
    const answered = await provider.complete({ model: 'small', prompt, maxOutputTokens: 2 })
    const usage = { input_tokens: 7, output_tokens: 2 }
    expect(answered).toEqual({ text: 'Mind the', ended: 'length', usage })
    const told = await provider.weigh?.({ model: 'small', prompt, text: 'A gap' })
    expect(told).toEqual([
      { logprob: -1, top: expect.arrayContaining([{ token: ' a', logprob: -0.5 }]) },
      { logprob: -2, top: expect.arrayContaining([{ token: 'gap', logprob: -2 }]) },
    ])
  })

  it('refuses what it cannot do, and names it', async () => {
    const refused = async (body: object) => {
      const response = await ask(body)
      const { error } = (await response.json()) as { error: { param: string; code: string | null } }
      return [response.status, error.code ?? error.param]
    }
    expect(await refused({ ...said('Hi'), tools: [] })).toEqual([400, 'tools'])
    expect(await refused({ ...said('Hi'), temperature: 1 })).toEqual([400, 'temperature'])
    expect(await refused({ ...said('Hi'), prompt_logprobs: 5 })).toEqual([400, 'messages'])
    expect(await refused({ ...said('Hi'), model: 'big' })).toEqual([404, 'model_not_found'])
    const long = said('1 2 3 4 5 6 7 8 9 10')
    const exceeded = [400, 'context_length_exceeded']
    expect(await refused(long)).toEqual(exceeded)
    expect(await refused({ ...long, stream: true })).toEqual(exceeded)
  })

  for (const stream of [false, true]) {
    it(`takes the next request when the client of ${stream ? 'a streamed' : 'an'} answer has left`, async () => {
      const serve = createServer(model, 'small', 2)
      const leaves = new AbortController()
      const first = serve(requestOf({ ...said('wait'), stream }, leaves.signal))
      const second = serve(requestOf(said('now')))
      expect((await serve(requestOf(said('too many')))).status).toBe(503)
      if (stream) await (await first).body?.cancel()
      else leaves.abort()
      expect(await (await second).json()).toMatchObject({
        choices: [{ message: { content: 'now' }, finish_reason: 'stop' }],
      })
    })
  }
})

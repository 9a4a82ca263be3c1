import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../lib/system.ts'
import { createAnthropic } from '../../../node/inference/anthropic.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { ProviderName } from '../../../node/inference/provider.ts'
import { answerJson, type LocalServer, type Seen, startServer } from '../../local-server.ts'
import { recordingLog } from '../fakes.ts'

const apiKey = 'sk-test-do-not-log-1234567890'
const makers = { openai: createOpenAi, anthropic: createAnthropic }
const answers: Record<ProviderName, (text: string) => unknown> = {
  openai: (content) => ({ choices: [{ index: 0, message: { role: 'assistant', content } }] }),
  anthropic: (text) => ({ type: 'message', role: 'assistant', content: [{ type: 'text', text }] }),
}
const errorBody: Record<ProviderName, (message: string) => unknown> = {
  openai: (message) => ({ error: { message, type: 'x', code: 'y' } }),
  anthropic: (message) => ({ type: 'error', error: { type: 'x', message } }),
}

const log = recordingLog()
let server: LocalServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

type Answer = (response: ServerResponse, request: Seen, count: number) => void

async function ask(name: ProviderName, answer: Answer, signal?: AbortSignal, attemptMs = 30_000) {
  server = await startServer(answer)
  const options = {
    apiKey,
    baseUrl: server.url,
    clock: systemClock,
    log,
    attemptMs,
    firstBackoffMs: 5,
  }
  const provider = makers[name](options)
  return await provider.complete({ model: 'model-x', prompt: 'Two?', maxOutputTokens: 99, signal })
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    (value) => `answered ${JSON.stringify(value)}`,
    (error: { code?: string; message: string }) => {
      expect(error.message).not.toContain(apiKey)
      return error.code ?? error.message
    },
  )

for (const name of ['openai', 'anthropic'] as const) {
  describe(name, () => {
    const says = answers[name]

    it('sends the prompt with the key as bearer, and gives the answer', async () => {
      expect(await ask(name, (response) => answerJson(response, 200, says('Four.')))).toBe('Four.')
      const [request] = server!.seen
      expect(request?.headers.authorization).toBe(`Bearer ${apiKey}`)
      expect(request?.path).toBe(name === 'openai' ? '/v1/chat/completions' : '/v1/messages')
      expect(JSON.parse(request!.body)).toMatchObject({
        model: 'model-x',
        max_tokens: 99,
        messages: [{ role: 'user', content: 'Two?' }],
      })
    })

    const refusals = [
      [400, 'provider-refused', 1],
      [401, 'provider-key-refused', 1],
      [403, 'provider-key-refused', 1],
      [404, 'provider-model-unknown', 1],
      [413, 'provider-refused', 1],
      [422, 'provider-refused', 1],
      [429, 'provider-rate-limited', 3],
      [500, 'provider-unavailable', 3],
      [503, 'provider-unavailable', 3],
      [529, 'provider-unavailable', 3],
    ] as const
    for (const [status, code, calls] of refusals) {
      it(`takes ${status} for ${code} after ${calls} call(s)`, async () => {
        const body = errorBody[name](`no: ${apiKey}`)
        expect(await codeOf(ask(name, (response) => answerJson(response, status, body)))).toBe(code)
        expect(server!.seen).toHaveLength(calls)
      })
    }

    it('quotes what the provider says at DEBUG only', async () => {
      const echo = errorBody[name]('I cannot answer: Two?')
      const failure = await ask(name, (response) => answerJson(response, 400, echo)).catch(
        (error) => error,
      )
      const code = name === 'openai' ? 'y' : 'x'
      expect(failure.message).toBe(`provider ${name} failed: status 400 (${code})`)
      expect(failure.hint).not.toContain('Two?')
      expect(log.lines.at(-1)).toMatch(/^DEBUG Provider .* failed: .*I cannot answer: Two\?/)
    })

    it('names no kind of error that could be a quotation', async () => {
      const error = { type: 'Two? he asked', code: 'Two? he asked', message: 'x' }
      const body = name === 'openai' ? { error } : { type: 'error', error }
      const failure = await ask(name, (response) => answerJson(response, 400, body)).catch(
        (thrown) => thrown,
      )
      expect(failure.message).toBe(`provider ${name} failed: status 400`)
    })

    it('waits as long as a Retry-After that is a date asks, or not at all', async () => {
      const inAnHour = new Date(systemClock.now() + 3_600_000).toUTCString()
      const failed = ask(name, (response) => {
        response.setHeader('retry-after', inAnHour)
        answerJson(response, 429, errorBody[name]('slow down'))
      })
      await expect(failed).rejects.toThrow(/asks to wait 3(600|59\d) s/)
      expect(server!.seen).toHaveLength(1)
    })

    it('tries again and may succeed', async () => {
      const text = await ask(name, (response, _, count) =>
        count < 3 ? answerJson(response, 502, {}) : answerJson(response, 200, says('Four.')),
      )
      expect(text).toBe('Four.')
    })

    it('takes an HTML error page for an unavailable provider', async () => {
      const work = ask(name, (response) => {
        response.writeHead(502, { 'content-type': 'text/html' })
        response.end('<html>Bad gateway</html>')
      })
      expect(await codeOf(work)).toBe('provider-unavailable')
    })

    it('takes an answer that is no JSON for an unavailable provider', async () => {
      const work = ask(name, (response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end('{"choices": [')
      })
      expect(await codeOf(work)).toBe('provider-unavailable')
    })

    it('takes a reset connection for an unavailable provider', async () => {
      expect(await codeOf(ask(name, (response) => response.destroy()))).toBe('provider-unavailable')
    })

    it('takes silence for an unavailable provider', async () => {
      const work = ask(name, () => {}, undefined, 50)
      expect(await codeOf(work)).toBe('provider-unavailable')
    })

    it('takes a body that stalls for an unavailable provider', async () => {
      const work = ask(
        name,
        (response) => {
          response.writeHead(200, { 'content-type': 'application/json' })
          response.write('{"choices":')
        },
        undefined,
        50,
      )
      expect(await codeOf(work)).toBe('provider-unavailable')
    })

    for (const empty of ['', ' \n']) {
      it(`refuses the empty answer ${JSON.stringify(empty)}`, async () => {
        const work = ask(name, (response) => answerJson(response, 200, says(empty)))
        expect(await codeOf(work)).toBe('provider-refused')
      })
    }

    it('refuses an answer without any text', async () => {
      const work = ask(name, (response) => answerJson(response, 200, { choices: [], content: [] }))
      expect(await codeOf(work)).toBe('provider-refused')
    })

    it('ends at once when the job ends', async () => {
      const stop = new AbortController()
      const work = ask(name, () => stop.abort(new Error('the lease is over')), stop.signal, 60_000)
      expect(await codeOf(work)).toBe('the lease is over')
    })
  })
}

describe('openai alone', () => {
  it('asks for temperature 0 and a seed', async () => {
    await ask('openai', (response) => answerJson(response, 200, answers.openai('x')))
    expect(JSON.parse(server!.seen[0]!.body)).toMatchObject({ temperature: 0, seed: 0 })
  })

  it('leaves them out for a model that does not take them', async () => {
    const text = await ask('openai', (response, request) =>
      request.body.includes('temperature')
        ? answerJson(response, 400, {
            error: {
              message: 'Unsupported value',
              param: 'temperature',
              code: 'unsupported_value',
            },
          })
        : answerJson(response, 200, answers.openai('Four.')),
    )
    expect(text).toBe('Four.')
  })

  it('does not try again when the quota is used up', async () => {
    const body = { error: { message: 'no credit', code: 'insufficient_quota' } }
    const work = ask('openai', (response) => answerJson(response, 429, body))
    expect(await codeOf(work)).toBe('provider-rate-limited')
    expect(server!.seen).toHaveLength(1)
  })
})

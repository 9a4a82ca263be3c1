import type { ServerResponse } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { elapsedSince } from '../../../lib/clock.ts'
import { maxBlobBytes } from '../../../lib/endpoints.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { createAnthropic } from '../../../node/inference/anthropic.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import type { Completed, Usage } from '../../../node/inference/provider.ts'
import { maxAnswerBytes } from '../../../node/inference/provider-fetch.ts'
import { answerJson, type LocalServer, type Seen, startServer } from '../../local-server.ts'
import { recordingLog } from '../fakes.ts'

const apiKey = 'sk-test-do-not-log-1234567890'
type Name = 'openai' | 'anthropic'
const makers = { openai: createOpenAi, anthropic: createAnthropic }
const answers: Record<Name, (text: string) => unknown> = {
  openai: (content) => ({ choices: [{ index: 0, message: { role: 'assistant', content } }] }),
  anthropic: (text) => ({ type: 'message', role: 'assistant', content: [{ type: 'text', text }] }),
}
const endings: Record<Name, readonly (readonly [string | null, string])[]> = {
  openai: [
    ['stop', 'stop'],
    [null, 'stop'],
    ['length', 'length'],
    ['max_tokens', 'length'],
  ],
  anthropic: [
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
  ],
}
const errorBody: Record<Name, (message: string) => unknown> = {
  openai: (message) => ({ error: { message, type: 'x', code: 'y' } }),
  anthropic: (message) => ({ type: 'error', error: { type: 'x', message } }),
}

const log = recordingLog()
let server: LocalServer | undefined
afterEach(async () => {
  await server?.close()
  server = undefined
})

/** The last answer. */
let completed: Completed | undefined

type Answer = (response: ServerResponse, request: Seen, count: number) => void

async function ask(
  name: Name,
  answer: Answer,
  signal?: AbortSignal,
  attemptMs = 30_000,
  leftMs?: () => number,
  onUsage?: (usage: Usage) => void,
) {
  server = await startServer(answer)
  const options = {
    ...{ name, apiKey, keyVariable: `${name.toUpperCase()}_API_KEY` },
    baseUrl: `${server.url}/v1`,
    clock: systemClock,
    log,
    attemptMs,
    firstBackoffMs: 5,
  }
  const provider = makers[name](options)
  const completion = { model: 'model-x', prompt: promptOfText('Two?'), maxOutputTokens: 99 }
  completed = await provider.complete({ ...completion, signal, leftMs, onUsage })
  return completed.text
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

    it('tells what each answer took, as far as the provider counts', async () => {
      const counts = {
        openai: { prompt_tokens: 12, completion_tokens: 3 },
        anthropic: { input_tokens: 12, output_tokens: 3 },
      }[name]
      for (const [usage, told] of [
        [counts, [{ input_tokens: 12, output_tokens: 3 }]],
        [undefined, []],
        [null, []],
        [
          { ...counts, ...(name === 'openai' ? { prompt_tokens: -1 } : { input_tokens: 'many' }) },
          [],
        ],
      ] as const) {
        const heard: Usage[] = []
        const answer = { ...Object(says('Four.')), usage }
        const reply: Answer = (response) => answerJson(response, 200, answer)
        const note = (one: Usage) => void heard.push(one)
        expect(await ask(name, reply, undefined, 30_000, undefined, note)).toBe('Four.')
        expect(heard).toEqual(told)
        expect([completed?.usage].filter((one) => one !== undefined)).toEqual(told)
        await server?.close()
      }
    })

    it.each(endings[name])(
      'tells that an answer with the reason %s ended by %s',
      async (reason, ended) => {
        const said = Object(says('Four.'))
        const [choice] = said.choices ?? []
        const choices = [{ ...choice, finish_reason: reason }]
        const answer = { ...said, ...(name === 'openai' ? { choices } : { stop_reason: reason }) }
        await ask(name, (response) => answerJson(response, 200, answer))
        expect(completed?.ended).toBe(ended)
      },
    )

    it('tells of an answer that is of no use, too: it is paid', async () => {
      const heard: Usage[] = []
      const counts = { prompt_tokens: 1, completion_tokens: 0, input_tokens: 1, output_tokens: 0 }
      const reply: Answer = (response) =>
        answerJson(response, 200, { ...Object(says('')), usage: counts })
      const note = (one: Usage) => void heard.push(one)
      expect(await codeOf(ask(name, reply, undefined, 30_000, undefined, note))).toBe(
        'provider-answer-empty',
      )
      expect(heard.length).toBeGreaterThan(0)
    })

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
      [402, 'provider-quota-used-up', 1],
      [403, 'provider-key-refused', 1],
      [404, 'provider-model-unknown', 1],
      [413, 'provider-prompt-too-long', 1],
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
      expect(failure.message).toBe(
        `provider ${name} at ${server!.url}/v1 failed: status 400 (${code})`,
      )
      expect(failure.hint).not.toContain('Two?')
      expect(log.lines.at(-1)).toMatch(/^DEBUG Provider .* failed: .*I cannot answer: Two\?/)
    })

    it('names no kind of error that could be a quotation', async () => {
      const error = { type: 'Two? he asked', code: 'Two? he asked', message: 'x' }
      const body = name === 'openai' ? { error } : { type: 'error', error }
      const failure = await ask(name, (response) => answerJson(response, 400, body)).catch(
        (thrown) => thrown,
      )
      expect(failure.message).toBe(`provider ${name} at ${server!.url}/v1 failed: status 400`)
    })

    it('waits as long as a Retry-After that is a date asks, or not at all', async () => {
      const inAnHour = new Date(systemClock.now() + 3_600_000).toUTCString()
      const failed = ask(name, (response) => {
        response.setHeader('retry-after', inAnHour)
        answerJson(response, 429, errorBody[name]('slow down'))
      })
      await expect(failed).rejects.toThrow(/asks to wait 3(600|59\d) s/)
      const { askedWaitMs } = await failed.catch((error) => error)
      expect(askedWaitMs).toBeGreaterThan(3_590_000)
      expect(server!.seen).toHaveLength(1)
    })

    it('tries again and may succeed', async () => {
      const text = await ask(name, (response, _, count) =>
        count < 3 ? answerJson(response, 502, {}) : answerJson(response, 200, says('Four.')),
      )
      expect(text).toBe('Four.')
    })

    const send =
      (type: string | undefined, body: string, status = 200): Answer =>
      (response) => {
        response.writeHead(status, type === undefined ? {} : { 'content-type': type })
        response.end(body)
      }
    it.each(['text/plain', undefined])('reads JSON under the content type %s', async (type) => {
      expect(await ask(name, send(type, JSON.stringify(says('Four.'))))).toBe('Four.')
    })

    const json = 'application/json'
    const login = '<!doctype html><title>Sign in</title>'
    it('asks once in a lease: a failure that passes goes back to the ICL', async () => {
      const work = ask(name, send('text/html', login), undefined, 30_000, () => 60_000)
      expect(await codeOf(work)).toBe('provider-protocol-wrong')
      expect(server!.seen).toHaveLength(1)
    })

    it('takes a reset connection for a provider that cannot be reached', async () => {
      expect(await codeOf(ask(name, (response) => response.destroy()))).toBe('provider-unreachable')
    })

    const silences: Record<string, Answer> = {
      silence: () => {},
      'a body that stalls': (response) => {
        response.writeHead(200, { 'content-type': json })
        response.write('{"choices":')
      },
    }
    for (const [what, answer] of Object.entries(silences)) {
      it(`says of ${what} how long there was no answer`, async () => {
        const failure = await ask(name, answer, undefined, 100).catch((error) => error)
        expect(failure).toMatchObject({ code: 'provider-silent' })
        expect(failure.message).toMatch(/ gave no whole answer within \d+ s and 3 tries$/)
      })
    }

    it('names itself, not the lease, when the lease ends over its silence', async () => {
      // The lease begins when the provider is called, not before its server has started.
      let begun: ReturnType<typeof systemClock.monotonic> | undefined
      const leftMs = () => {
        begun ??= systemClock.monotonic()
        return 1_200 - elapsedSince(systemClock, begun)
      }
      const failure = await ask(name, () => {}, undefined, 30_000, leftMs).catch((error) => error)
      expect(failure).toMatchObject({ code: 'provider-silent' })
      expect(failure.message).toMatch(/ within [1-9] s$/)
    })

    for (const empty of ['', ' \n']) {
      it(`gives ${JSON.stringify(empty)} a cause of its own, and asks once`, async () => {
        const work = ask(name, (response) => answerJson(response, 200, says(empty)))
        expect(await codeOf(work)).toBe('provider-answer-empty')
        expect(server!.seen).toHaveLength(1)
      })
    }

    it('takes an answer that is refused or filtered for no answer, also half of one, and asks once', async () => {
      const said = { message: { content: 'First,' }, finish_reason: 'content_filter' }
      const refused = {
        openai: { choices: [said] },
        anthropic: { content: [{ type: 'text', text: 'First,' }], stop_reason: 'refusal' },
      }[name]
      const work = ask(name, (response) => answerJson(response, 200, refused))
      await expect(work).rejects.toMatchObject({
        code: 'provider-refused',
        message: expect.stringMatching(/ refused or filtered the answer$/),
      })
      expect(server!.seen).toHaveLength(1)
    })

    it('pays once for an answer in another form, which asking again would not change', async () => {
      const other = {
        openai: { choices: [{ message: { content: 4 }, finish_reason: 'stop' }] },
        anthropic: { content: 'Four.', stop_reason: 'end_turn' },
      }[name]
      const counts = {
        openai: { prompt_tokens: 12, completion_tokens: 3 },
        anthropic: { input_tokens: 12, output_tokens: 3 },
      }[name]
      const work = ask(name, (response) => answerJson(response, 200, { ...other, usage: counts }))
      expect(await codeOf(work)).toBe('provider-protocol-wrong')
      expect(server!.seen).toHaveLength(1)
    })

    it('asks again after JSON that is no answer, as a proxy may send it for an error', async () => {
      const text = await ask(name, (response, _, count) =>
        answerJson(response, 200, count === 1 ? { error: { message: 'busy' } } : says('Four.')),
      )
      expect(text).toBe('Four.')
    })

    it('lets go of an endless body after a few MiB, and asks once', async () => {
      let sent = 0
      const chunk = Buffer.alloc(64 * 1024, ' ')
      let closed: () => void
      const isClosed = new Promise<void>((resolve) => {
        closed = resolve
      })
      const work = ask(name, (response) => {
        response.writeHead(200, { 'content-type': json })
        response.on('close', () => closed())
        const more = () => {
          while (!response.destroyed) {
            sent += chunk.length
            if (!response.write(chunk)) break
          }
        }
        response.on('drain', more)
        more()
      })
      expect(await codeOf(work)).toBe('provider-answer-too-large')
      await isClosed
      expect(server!.seen).toHaveLength(1)
      // What the operating system keeps on the way comes on top.
      expect(sent).toBeLessThan(8 * maxAnswerBytes)
    })

    it('pays once for an answer that is larger than an output may be', async () => {
      const text = 'x'.repeat(maxBlobBytes)
      const work = ask(name, (response) => answerJson(response, 200, says(text)))
      expect(await codeOf(work)).toBe('provider-answer-too-large')
      expect(server!.seen).toHaveLength(1)
    })

    it("sends the node's key, whatever headers the environment has for the SDK", async () => {
      const custom = `${name.toUpperCase()}_CUSTOM_HEADERS`
      process.env[custom] =
        'Authorization: Bearer of-another-server\nX-Api-Key: of-another-server\nOpenAI-Project: of-another-server'
      await ask(name, (response) => answerJson(response, 200, says('x'))).finally(() => {
        delete process.env[custom]
      })
      const { headers } = server!.seen[0]!
      expect(headers.authorization).toBe(`Bearer ${apiKey}`)
      expect(JSON.stringify(headers)).not.toContain('of-another-server')
    })

    it('ends at once when the job ends', async () => {
      const stop = new AbortController()
      const work = ask(name, () => stop.abort(new Error('the lease is over')), stop.signal, 60_000)
      expect(await codeOf(work)).toBe('the lease is over')
    })
  })
}

describe('openai alone', () => {
  it('shows a server that takes no key neither a key nor an account of OpenAI', async () => {
    process.env.OPENAI_API_KEY = 'sk-of-openai'
    process.env.OPENAI_ORG_ID = 'org-of-openai'
    server = await startServer((response) => answerJson(response, 200, answers.openai('x')))
    const reached = { name: 'ollama', baseUrl: `${server.url}/v1`, keyVariable: 'OLLAMA_API_KEY' }
    const provider = createOpenAi({ ...reached, apiKey: undefined, clock: systemClock, log })
    try {
      await provider.complete({
        model: 'llama3:8b',
        prompt: promptOfText('Two?'),
        maxOutputTokens: 9,
      })
    } finally {
      delete process.env.OPENAI_API_KEY
      delete process.env.OPENAI_ORG_ID
    }
    const { headers, body } = server.seen[0]!
    expect(headers.authorization).toBeUndefined()
    expect(JSON.stringify(headers)).not.toContain('of-openai')
    expect(JSON.parse(body)).toMatchObject({ model: 'llama3:8b' })
  })

  // As Mistral's API does.
  it.each(['message', 'detail'])(
    'leaves out only what a server names in its %s',
    async (member) => {
      const loc = { type: 'extra_forbidden', loc: ['body', 'seed'] }
      const refusal = member === 'message' ? { message: { detail: [loc] } } : { detail: [loc] }
      const text = await ask('openai', (response, request) =>
        request.body.includes('seed')
          ? answerJson(response, 422, refusal)
          : answerJson(response, 200, answers.openai('Four.')),
      )
      expect(text).toBe('Four.')
      expect(JSON.parse(server!.seen[1]!.body)).toMatchObject({ temperature: 0 })
      expect(server!.seen).toHaveLength(2)
    },
  )

  // As OpenRouter's API says it of a model that fails halfway, and vLLM of a request that its engine ended.
  it.each(['error', 'abort'])(
    'takes what was said before the reason %s for no answer, and asks again',
    async (finish_reason) => {
      const half = { choices: [{ finish_reason, message: { content: 'Four, bec' } }] }
      const text = await ask('openai', (response, _, count) =>
        answerJson(response, 200, count === 1 ? half : answers.openai('Four.')),
      )
      expect(text).toBe('Four.')
      expect(server!.seen).toHaveLength(2)
    },
  )

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

  for (const [protocol, status, error] of [
    ['openai', 429, { message: 'no credit', code: 'insufficient_quota' }],
    ['openai', 429, { message: 'no credit', code: null, type: 'insufficient_quota' }],
    ['openai', 429, { message: 'not active', code: 'billing_not_active' }],
    ['openai', 400, { message: 'a limit', code: 'billing_hard_limit_reached' }],
    [
      'anthropic',
      400,
      {
        type: 'invalid_request_error',
        message: 'Your credit balance is too low to access the Anthropic API. Please buy more.',
      },
    ],
    [
      'anthropic',
      429,
      { type: 'rate_limit_error', details: { error_code: 'enforced_spend_limit_reached' } },
    ],
  ] as const) {
    it(`does not try again without credit: ${protocol}, ${JSON.stringify(error)}`, async () => {
      const work = ask(protocol, (response) => answerJson(response, status, { error }))
      expect(await codeOf(work)).toBe('provider-quota-used-up')
      expect(server!.seen).toHaveLength(1)
    })
  }

  it('takes a refused prompt that quotes such an error for no more than a refused prompt', async () => {
    const message = 'This prompt is refused: "Your credit balance is too low"'
    const error = { type: 'invalid_request_error', message }
    const work = ask('anthropic', (response) => answerJson(response, 400, { error }))
    expect(await codeOf(work)).toBe('provider-refused')
  })
})

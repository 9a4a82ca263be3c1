import { describe, expect, it } from 'vitest'
import { createSemaphore } from '../../../client/gateway/semaphore.ts'
import { PromptNotTakenError } from '../../../lib/client/choose-terms.ts'
import type { InferOptions } from '../../../lib/client/infer.ts'
import { GoesOnError, type Inference, UncommittedError } from '../../../lib/client/inference.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { acceptedAs, fakeGateway, jobId, question } from './fake-client.ts'

const answers = (output: string) => fakeGateway((_, { model }) => acceptedAs(output, model))
const failing = (error: unknown) =>
  fakeGateway(() => {
    throw error
  })

/** The events of a stream as they were sent. */
const eventsOf = async (response: Response) =>
  (await response.text()).split('\n\n').filter((event) => event !== '')

const chunksOf = (events: readonly string[]) =>
  events
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)))

describe('a stream', () => {
  it('has the whole answer in pieces that cut no character, and the receipt in headers and in its last chunk', async () => {
    const output = `${'The ferry 🛳️ leaves.\n'.repeat(20)}Fin`
    const response = await answers(output).post(
      question({ stream: true, stream_options: { include_usage: true } }),
    )
    expect(response.headers.get('content-type')).toMatch(/^text\/event-stream/)
    expect(response.headers.get('x-svc-job-id')).toBe(jobId)
    const events = await eventsOf(response)
    expect(events.at(-1)).toBe('data: [DONE]')
    const chunks = chunksOf(events)
    const contents = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
    expect(contents.join('')).toBe(output)
    expect(contents.every((piece: string) => [...piece].length <= 64)).toBe(true)
    expect(contents.some((piece: string) => piece.includes('\ufffd'))).toBe(false)
    expect(chunks[0].choices[0].delta).toEqual({ role: 'assistant', content: '' })
    const last = chunks.at(-2)
    expect(last.choices[0].finish_reason).toBe('stop')
    expect(last.svc.receipt_hash).toBe(response.headers.get('x-svc-receipt-hash'))
    expect(response.headers.get('x-svc-agreement')).toMatch(/^\d of \d agreed/)
    expect(last.svc.agreement).toBe(response.headers.get('x-svc-agreement'))
    expect(chunks.at(-1)).toMatchObject({
      choices: [],
      usage: { completion_tokens: Math.ceil(Buffer.byteLength(output) / 4) },
    })
  })

  it('tells that the answer was cut off, and the tokens that providers counted', async () => {
    const usage = { input_tokens: 37, output_tokens: 8 }
    const cut = { ...acceptedAs('A gull', 'openai:one'), ended: 'length' as const, usage }
    const { post } = fakeGateway(() => cut)
    const wanted = { prompt_tokens: 37, completion_tokens: 8, total_tokens: 45 }
    const more = { stream: true, stream_options: { include_usage: true } }
    const chunks = chunksOf(await eventsOf(await post(question(more))))
    expect(chunks.at(-2)).toMatchObject({
      ...{ choices: [{ finish_reason: 'length' }], svc: { usage: 'provider' } },
    })
    expect(chunks.at(-1).usage).toEqual(wanted)
    expect(await (await post(question())).json()).toMatchObject({
      ...{ choices: [{ finish_reason: 'length' }], usage: wanted },
    })
    const estimated = await answers('Fin').post(question())
    expect((await estimated.json()).svc.usage).toBe('estimated')
  })

  it.each([
    [{ nodes: 7, active: 7, leftOut: 1 }, '1 of 8'],
    [{ nodes: 7, active: 6, leftOut: 0 }, '0 of 6'],
    [{ nodes: 7, active: 6, leftOut: undefined }, 'unknown'],
  ])('tells how many active nodes the pool leaves out: %o', async (compared, told) => {
    const gateway = fakeGateway((_, { onPool }) => {
      onPool?.(compared)
      return acceptedAs('Fin', 'openai:one')
    })
    const response = await gateway.post(question())
    expect(response.headers.get('x-svc-pool-left-out')).toBe(told)
    expect((await response.json()).svc.pool_left_out).toBe(told)
  })

  it('begins when its job is submitted, tells step and nodes until there is an answer, and nothing of it', async () => {
    const held = Promise.withResolvers<Inference>()
    const begun = Promise.withResolvers<InferOptions>()
    const gateway = fakeGateway(
      (_, options) => {
        begun.resolve(options)
        return held.promise
      },
      { keepAliveMs: 600_000 },
    )
    const asked = gateway.post(question({ stream: true, temperature: 1 }))
    const { onStep, onSubmitted } = await begun.promise
    onSubmitted?.({ jobId } as never)
    const response = await asked
    expect(response.headers.get('x-svc-job-id')).toBe(jobId)
    expect(response.headers.get('x-svc-ignored')).toBe('temperature')
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    const readUntil = async (words: string) => {
      while (!text.includes(words)) text += (await reader.read()).value
    }
    onStep?.({ step: 'inference', phase: 'start', elapsedMs: 0 })
    const detail = 'claimed leader 0xab\ndata: "x"'
    onStep?.({ step: 'inference', phase: 'progress', elapsedMs: 5, detail })
    await readUntil('claimed leader 0xab data: "x"')
    expect(text.split('\n\n').every((part) => part === '' || /^: \d+\.\d s, /.test(part))).toBe(
      true,
    )
    expect(text).toContain('The nodes answer, and one that agrees delivers')
    expect(gateway.lines).toEqual([])
    held.resolve(acceptedAs('Here it is.', 'openai:one'))
    await readUntil('[DONE]\n\n')
    expect(text).toContain('Here it is.')
    expect((await reader.read()).done).toBe(true)
    expect(gateway.lines.map(({ status, model }) => [status, model])).toEqual([[200, 'openai:one']])
  })

  it('begins after the interval where its job is not submitted by then, and says again and again that it waits', async () => {
    const held = Promise.withResolvers<Inference>()
    const gateway = fakeGateway(() => held.promise, { keepAliveMs: 5 })
    const response = await gateway.post(question({ stream: true }))
    expect(response.headers.get('x-svc-job-id')).toBeNull()
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    while (text.split('Waiting for a turn').length < 4) text += (await reader.read()).value
    held.resolve(acceptedAs('Here it is.', 'openai:one'))
    while (!text.includes('[DONE]')) text += (await reader.read()).value
  })

  it('has the status of a failure from before the submission, and an event of a later one, without an end that looks like an answer', async () => {
    const error = new SvcError('job-disputed', 'They did not agree', { hint: 'Again.' })
    const early = fakeGateway(() => Promise.reject(error), { keepAliveMs: 600_000 })
    expect((await early.post(question({ stream: true }))).status).toBe(502)
    const gateway = fakeGateway(
      async (_, { onSubmitted }) => {
        onSubmitted?.({ jobId } as never)
        await new Promise((resolve) => setImmediate(resolve))
        throw error
      },
      { keepAliveMs: 600_000 },
    )
    const events = await eventsOf(await gateway.post(question({ stream: true })))
    expect(JSON.parse(events.at(-1)!.replace('data: ', ''))).toEqual({
      error: {
        ...{ type: 'server_error', code: 'job_disputed', param: null, status: 502 },
        message: 'They did not agree. Again. (502 server_error job_disputed)',
      },
    })
    expect(events.join()).not.toContain('[DONE]')
    expect(events.join()).not.toContain('choices')
    expect(gateway.lines.map((line) => line.error)).toEqual([error])
  })

  it('that is left cancels its job', async () => {
    const left = Promise.withResolvers<void>()
    const gateway = fakeGateway(
      (_, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener('abort', () => {
            left.resolve()
            reject(signal.reason)
          })
        }),
      { keepAliveMs: 5 },
    )
    const response = await gateway.post(question({ stream: true }))
    await response.body!.cancel()
    await left.promise
  })
})

describe('a failure', () => {
  const cases: readonly (readonly [string, boolean, number, string, string])[] = [
    ['model-unknown', false, 404, 'invalid_request_error', 'model_not_found'],
    ['prompt-not-supported', false, 400, 'invalid_request_error', 'unsupported_value'],
    ['provider-refused', false, 400, 'invalid_request_error', 'content_policy_violation'],
    ['rate-limited', true, 429, 'rate_limit_error', 'rate_limit_exceeded'],
    ['provider-rate-limited', true, 429, 'rate_limit_error', 'rate_limit_exceeded'],
    ['quota-exceeded', true, 429, 'insufficient_quota', 'insufficient_quota'],
    ['provider-quota-used-up', false, 429, 'insufficient_quota', 'insufficient_quota'],
    ['provider-key-refused', false, 503, 'server_error', 'provider_key_refused'],
    ['provider-unavailable', true, 503, 'service_unavailable_error', 'server_is_overloaded'],
    ['provider-silent', true, 503, 'service_unavailable_error', 'server_is_overloaded'],
    ['provider-unreachable', true, 503, 'service_unavailable_error', 'server_is_overloaded'],
    ['model-limited', true, 429, 'rate_limit_error', 'rate_limit_exceeded'],
    ['model-withdrawn', true, 503, 'server_error', 'model_withdrawn'],
    ['not-enough-nodes', true, 503, 'server_error', 'not_enough_nodes'],
    ['not-enough-serving', true, 503, 'server_error', 'not_enough_serving'],
    ['job-disputed', true, 502, 'server_error', 'job_disputed'],
    ['job-expired', true, 504, 'server_error', 'job_expired'],
    ['receipt-invalid', false, 502, 'server_error', 'receipt_invalid'],
    ['chain-timeout', true, 503, 'server_error', 'chain_timeout'],
  ]
  it('has the form that callers of OpenAI know, and what to do', async () => {
    for (const [code, retryable, status, type, shown] of cases) {
      const error = new SvcError(code, 'What happened', { hint: 'What to do', retryable })
      const response = await failing(error).post(question())
      expect([code, response.status]).toEqual([code, status])
      const { error: body } = (await response.json()) as { error: Record<string, unknown> }
      expect(Object.keys(body)).toEqual(['message', 'type', 'param', 'code'])
      expect([body.type, body.code, body.message]).toEqual([
        type,
        shown,
        'What happened. What to do',
      ])
      // A new job costs money: the response asks the official clients not to make one by themselves.
      expect(response.headers.get('x-should-retry')).toBe(String(code === 'rate-limited'))
    }
  })

  it('of a prompt that is too long has the words by which clients shorten a conversation', async () => {
    for (const code of ['prompt-too-long', 'provider-prompt-too-long']) {
      const response = await failing(new SvcError(code, 'Too long', { hint: 'Shorten it.' })).post(
        question(),
      )
      expect([response.status, (await response.json()).error]).toEqual([
        400,
        {
          ...{ type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
          message: "This model's maximum context length is exceeded. Too long. Shorten it.",
        },
      ])
    }
  })

  it('names the command that opens the answer of a job that continues', async () => {
    const response = await failing(new GoesOnError(new Error('enough'), jobId)).post(question())
    expect(response.status).toBe(502)
    expect(await response.text()).toContain(`--open ${jobId}`)
  })

  it('passes on how long to wait', async () => {
    const cause = new ProblemError('too-many-jobs', 'At most 8', { retryAfterSeconds: 10 })
    const error = new SvcError('too-many-jobs', 'At most 8', { hint: 'Wait.', cause })
    const hint = 'Wait.'
    const limited = new SvcError('provider-rate-limited', 'Used up', {
      hint,
      retryAfterSeconds: 40,
    })
    for (const [failure, seconds] of [
      [error, '10'],
      [limited, '40'],
    ] as const) {
      const response = await failing(failure).post(question())
      expect([response.status, response.headers.get('retry-after')]).toEqual([429, seconds])
    }
  })

  it('that the code does not expect shows nothing of itself, and is in the log', async () => {
    const gateway = failing(new Error('key 0x1234'))
    const response = await gateway.post(question())
    expect([response.status, (await response.text()).includes('0x1234')]).toEqual([500, false])
    expect(String(gateway.lines[0]?.error)).toContain('0x1234')
  })
})

describe('a checked answer that was not seen on chain', () => {
  const hint = 'Run it again.'
  const missing = new SvcError('commit-missing', 'Not on chain', { hint, retryable: true })
  const { commitTx: _, ...inference } = acceptedAs('Here it is.', 'openai:one')
  const unseen = new UncommittedError(inference, missing)
  const refuse = () => Promise.reject(unseen)

  it('is given to its caller, who has paid for it, and says so', async () => {
    for (const isStrict of [false, true]) {
      const gateway = fakeGateway(refuse, { isStrict })
      const response = await gateway.post(question())
      const { choices, svc } = await response.json()
      expect([response.status, choices[0].message.content]).toEqual([200, 'Here it is.'])
      expect(svc).toMatchObject({
        ...{ receipt_hash: inference.receiptHash, commit_unseen: 'commit_missing' },
      })
      expect(svc).not.toHaveProperty('commit_tx')
      const { headers } = response
      expect(headers.get('x-svc-receipt-hash')).toBe(inference.receiptHash)
      expect(headers.get('x-svc-commit-unseen')).toBe('commit_missing')
      expect(headers.has('x-svc-commit-tx')).toBe(false)
      expect(gateway.lines.map(({ unseen, error }) => [unseen, error])).toEqual([
        [missing.message, undefined],
      ])
    }
  })

  it('ends a stream that has begun, and says so in its last chunk', async () => {
    const gateway = fakeGateway(
      async (_, { onSubmitted }) => {
        onSubmitted?.({ jobId } as never)
        await new Promise((resolve) => setImmediate(resolve))
        throw unseen
      },
      { keepAliveMs: 600_000 },
    )
    const events = await eventsOf(await gateway.post(question({ stream: true })))
    expect(events.at(-1)).toBe('data: [DONE]')
    const chunks = chunksOf(events)
    const said = chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
    expect(said.join('')).toBe('Here it is.')
    expect(chunks.at(-1).svc).toMatchObject({ commit_unseen: 'commit_missing' })
    expect(gateway.lines).toMatchObject([{ unseen: missing.message }])
  })
})

describe('what cannot be honoured', () => {
  const lacking = (...parts: string[]) => new PromptNotTakenError('No', 'Leave it out.', parts)

  it('is left out, and named in a header and once in the log', async () => {
    const gateway = answers('x')
    for (const _ of [1, 2]) {
      const response = await gateway.post(question({ temperature: 0.7, n: 3 }))
      expect([response.status, response.headers.get('x-svc-ignored')]).toEqual([
        200,
        'temperature, n',
      ])
      expect(await response.json()).toMatchObject({ svc: { ignored: ['temperature', 'n'] } })
    }
    expect(gateway.ignored).toEqual(['temperature', 'n'])
    const strict = fakeGateway(() => acceptedAs('x', 'openai:one'), { isStrict: true })
    const refused = await strict.post(question({ temperature: 0.7 }))
    expect([refused.status, strict.asked.length]).toEqual([400, 0])
  })

  it('is left out where a model does not take it, as far as the question stays the same', async () => {
    const parts = ['parallel_tool_calls', 'reasoning_effort', 'seed', 'stop']
    const infer = (prompt: unknown) => {
      if (Object.hasOwn(prompt as object, 'seed')) throw lacking(...parts)
      return acceptedAs('x', 'openai:one')
    }
    const gateway = fakeGateway(infer)
    const tools = [{ type: 'function', function: { name: 'look' } }]
    const more = { seed: 1, stop: 'END', parallel_tool_calls: false, reasoning_effort: 'low' }
    const response = await gateway.post(question({ ...more, tools }))
    expect([response.status, response.headers.get('x-svc-ignored')]).toEqual([
      200,
      parts.join(', '),
    ])
    expect(gateway.asked.at(-1)?.prompt).toEqual({
      ...promptOfText('Who?'),
      tools: [{ name: 'look' }],
    })
    const strict = fakeGateway(infer, { isStrict: true })
    expect((await strict.post(question({ seed: 1 }))).status).toBe(400)
    const needed = failing(lacking('json_schema', 'seed'))
    expect((await needed.post(question({ seed: 1 }))).status).toBe(400)
    expect(needed.asked).toHaveLength(1)
  })
})

it('a gateway that stops says so to callers with a job under way or waiting for a turn', async () => {
  const begun = Promise.withResolvers<void>()
  const gateway = fakeGateway(
    (_, { signal }) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason))
        begun.resolve()
      }),
    { atOnce: 1 },
  )
  const asked = [gateway.post(question()), gateway.post(question())]
  await begun.promise
  gateway.stop.abort(new Error('Stopped by SIGTERM'))
  for (const response of await Promise.all(asked)) {
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([503, 'false'])
    expect(await response.json()).toMatchObject({ error: { code: 'gateway_stopped' } })
  }
})

it('the health of a gateway can be read without a key', async () => {
  const gateway = fakeGateway(() => acceptedAs('x', 'openai:one'), {
    keys: [{ name: 'ann', key: 'k'.repeat(16) }],
  })
  const response = await gateway.call('/health')
  expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }])
})

describe('the models', () => {
  it('are those that a quorum serves, whether or not it offers them now, with their other names', async () => {
    const gateway = answers('')
    const list = (await (await gateway.call('/v1/models')).json()) as { data: { id: string }[] }
    expect(list.data.map(({ id }) => id)).toEqual([
      'openai:one',
      'openai:two',
      'anthropic:two',
      'best',
    ])
    const again = await (await gateway.call('/v1/models/')).json()
    expect(again).toEqual(list)
    const best = await (await gateway.call('/v1/models/best')).json()
    expect(best).toEqual({ id: 'best', object: 'model', created: 0, owned_by: 'openai' })
    expect((await gateway.call('/v1/models/anthropic:few')).status).toBe(404)
  })

  it('may be called by another name, or by their own alone when no other has it', async () => {
    const gateway = answers('x')
    const names = {
      ...{ best: 'openai:one', one: 'openai:one', 'anthropic:two': 'anthropic:two' },
      ...{ 'mistral:7b': 'ollama:mistral:7b', 'ollama:mistral:7b': 'ollama:mistral:7b' },
    }
    for (const [name, model] of Object.entries(names)) {
      expect((await gateway.post(question({ model: name }))).status).toBe(200)
      expect(gateway.asked.at(-1)?.options.model).toBe(model)
    }
    for (const name of ['two', 'three', 'gpt-4o', 'openai:no such form']) {
      expect((await gateway.post(question({ model: name }))).status).toBe(404)
    }
  })
})

describe('who may call', () => {
  it('must show one of the keys where there are some; the log has its name', async () => {
    const keys = ['ann', 'bob'].map((name) => ({ name, key: `a key of ${name}, long enough` }))
    const gateway = fakeGateway(() => acceptedAs('x', 'openai:one'), { keys })
    const statusWith = async (authorization?: string) =>
      (await gateway.post(question(), { headers: authorization ? { authorization } : {} })).status
    for (const { key } of keys) expect(await statusWith(`Bearer ${key}`)).toBe(200)
    const { key } = keys[0]!
    for (const wrong of [undefined, 'Bearer ', `Bearer ${key}x`, 'Bearer a-key', `Basic ${key}`]) {
      expect([wrong, await statusWith(wrong)]).toEqual([wrong, 401])
    }
    expect(gateway.asked).toHaveLength(2)
    expect(gateway.lines.map(({ caller }) => caller).slice(0, 3)).toEqual(['ann', 'bob', undefined])
    // Clients of Anthropic send two keys where their environment has two.
    const headers = { authorization: 'Bearer another', 'x-api-key': key }
    expect((await gateway.post(question(), { headers })).status).toBe(200)
    expect(gateway.lines.at(-1)?.caller).toBe('ann')
  })

  it('is not a web page, unless it was allowed', async () => {
    const page = 'https://page.example'
    const closed = answers('x')
    const refused = await closed.post(question(), { headers: { origin: page } })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([
      403,
      null,
    ])
    const preflight = { method: 'OPTIONS', headers: { origin: page } }
    expect((await closed.call('/v1/chat/completions', preflight)).status).toBe(403)
    // A request that a page may send without asking first.
    const form = await closed.post(question(), { headers: { 'content-type': 'text/plain' } })
    expect(form.status).toBe(400)
    expect(closed.asked).toEqual([])

    const open = fakeGateway(() => acceptedAs('x', 'openai:one'), { origins: new Set([page]) })
    const asked = await open.call('/v1/chat/completions', preflight)
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([204, page])
    const taken = await open.post(question(), { headers: { origin: page } })
    expect(taken.status).toBe(200)
    const shown = taken.headers.get('access-control-expose-headers')?.split(', ')
    // Without the last two, the official client repeats in a page what it must not.
    const read = ['x-svc-receipt-hash', 'x-should-retry', 'retry-after']
    expect(shown).toEqual(expect.arrayContaining(read))
    const other = await open.post(question(), { headers: { origin: 'https://other.example' } })
    expect(other.status).toBe(403)
  })

  it('is not compressed, and the refusal says so', async () => {
    const gateway = answers('x')
    const refused = await gateway.post(question(), { headers: { 'content-encoding': 'gzip' } })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { code: 'unsupported_content_encoding' } })
    expect(gateway.asked).toEqual([])
    const plain = await gateway.post(question(), { headers: { 'content-encoding': 'identity' } })
    expect(plain.status).toBe(200)
  })

  it('does not come by another name of this machine', async () => {
    const gateway = fakeGateway(() => acceptedAs('x', 'openai:one'), {
      hosts: new Set(['localhost', '127.0.0.1', '[::1]']),
    })
    const statusAt = async (host: string) =>
      (await gateway.call('/v1/models', { headers: { host } })).status
    for (const host of ['localhost', 'LOCALHOST:8787', '127.0.0.1:8787', '[::1]:8787']) {
      expect([host, await statusAt(host)]).toEqual([host, 200])
    }
    for (const host of ['rebound.example', 'rebound.example:8787', 'localhost.example', '']) {
      expect([host, await statusAt(host)]).toEqual([host, 403])
    }
    const refused = await gateway.call('/v1/models', { headers: { host: 'rebound.example' } })
    expect((await refused.json()).error.message).toContain('start it with --allow-host')
    // Bun gives the path alone as the URL when the host is none.
    const hostless = new Request('http://a/v1/models', { headers: { host: 'a b' } })
    Object.defineProperty(hostless, 'url', { value: '/v1/models' })
    expect((await gateway.app.fetch(hostless)).status).toBe(403)
  })
})

describe('many requests', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  it('run few at a time, wait in turn, and are refused when too many wait', async () => {
    const held: (() => void)[] = []
    let most = 0
    let running = 0
    const gateway = fakeGateway(async () => {
      running += 1
      most = Math.max(most, running)
      await new Promise<void>((resolve) => held.push(resolve))
      running -= 1
      return acceptedAs('x', 'openai:one')
    })
    const statuses: number[] = []
    const retries: (string | null)[] = []
    const ask = async () => {
      const { status, headers } = await gateway.post(question())
      statuses.push(status)
      if (status === 429) retries.push(headers.get('retry-after'))
    }
    const all = Promise.all(Array.from({ length: 7 }, ask))
    while (statuses.length < 3) await turn()
    expect([statuses, retries]).toEqual([
      [429, 429, 429],
      ['5', '5', '5'],
    ])
    while (statuses.length < 7) {
      held.shift()?.()
      await turn()
    }
    await all
    expect(statuses.slice(3)).toEqual([200, 200, 200, 200])
    expect([most, gateway.asked.length]).toEqual([2, 4])
  })

  it('leave the queue when their callers leave, and take no turn from others', async () => {
    const semaphore = createSemaphore(1, 2)
    const { promise, resolve } = Promise.withResolvers<string>()
    const { signal } = new AbortController()
    const stop = new AbortController()
    const ran: string[] = []
    const noted = async (name: string) => ran.push(name)
    const first = semaphore.run(signal, () => promise)
    const second = semaphore.run(stop.signal, () => noted('second'))
    const third = semaphore.run(signal, () => noted('third'))
    await expect(semaphore.run(signal, () => noted('fourth'))).rejects.toMatchObject({
      status: 429,
    })
    stop.abort(new Error('left'))
    await expect(second).rejects.toThrow('left')
    const fifth = semaphore.run(signal, () => noted('fifth'))
    resolve('done')
    expect(await first).toBe('done')
    await Promise.all([third, fifth])
    await semaphore.run(signal, () => noted('last'))
    expect(ran).toEqual(['third', 'fifth', 'last'])
  })
})

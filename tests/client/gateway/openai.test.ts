import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import OpenAI from 'openai'
import { createPublicClient, http } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { clientEnvironment } from '../../../demo/client-environment.ts'
import { createProcesses, type Running } from '../../../demo/processes.ts'
import { startWorld } from '../../../demo/world.ts'
import { createClient } from '../../../lib/client/client.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { systemClock } from '../../../lib/system.ts'
import { builtBinary } from '../../binary/executable.ts'
import { cutOff, startProviderServer } from '../../e2e/provider-server.ts'
import { breadAnswer, liftAnswer } from '../../lib/comparators/texts.ts'

const model = 'openai:gpt-4o-mini'
const waitMs = 240_000
const loadedMs = 180_000
const run = promisify(execFile)
const key = 'a key that callers show'

let answer: Parameters<typeof startProviderServer>[0] = () => ''
const stops: (() => Promise<void>)[] = []
let baseURL = ''

const until = async <T>(look: () => Promise<T | undefined>, what: string): Promise<T> => {
  const end = systemClock.now() + waitMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (systemClock.now() > end) throw new Error(`${what}:\n${await world.lastLogs()}`)
    await systemClock.sleep(50)
  }
}

const logOf = (running: Running) => readFile(running.logFile, 'utf8')

const provider = await startProviderServer((call) => answer(call))
stops.unshift(provider.stop)
const world = await startWorld({
  models: [model, 'anthropic:claude-sonnet-5-5'],
  nodeBinary: await builtBinary(),
  providerEnv: (index) => ({
    OPENAI_API_KEY: `key-${index}`,
    ANTHROPIC_API_KEY: `key-${index}`,
    SVC_OPENAI_BASE_URL: provider.openaiUrl,
    SVC_ANTHROPIC_BASE_URL: provider.anthropicUrl,
  }),
})
stops.unshift(world.stop)
const keysFile = join(world.folder, 'gateway-keys.json')
const keys = [
  { name: 'other', key: 'a key of another caller' },
  { name: 'tests', key },
]
await writeFile(keysFile, JSON.stringify({ keys }), { mode: 0o600 })
const processes = createProcesses(world.folder)
stops.unshift(processes.close)
const gateway = processes.start({
  name: 'gateway',
  args: [
    new URL('../../../client/gateway/main.ts', import.meta.url).pathname,
    ...['--port', '0', '--model-map', `gpt-4o=${model}`, '--at-once', '2', '--store-ahead'],
  ],
  env: { ...(await clientEnvironment(world)), SVC_GATEWAY_KEYS_FILE: keysFile },
})
baseURL = await until(async () => {
  if (gateway.hasExited()) throw new Error(await logOf(gateway))
  return /^Gateway at (http:\S+)$/m.exec(await logOf(gateway))?.[1]
}, 'the gateway does not start')
const openai = new OpenAI({ baseURL, apiKey: key })
const { rpcUrl, client: account } = world.chain
const client = await createClient({ icl: world.icl.url, rpcUrl, account })

afterAll(async () => {
  for (const stop of stops) await stop()
}, 60_000)

const ask = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] })

describe('the openai package at the gateway', () => {
  it('waits for a key of its job the first time only: the gateway has stored the next', async () => {
    const stored = async () => (await logOf(gateway)).split(`key stored ahead for ${model}`).length
    answer = () => 'yes'
    await openai.chat.completions.create(ask('Is the light on?'))
    await until(async () => ((await stored()) === 2 ? true : undefined), 'no key is stored ahead')
    const rpc = createPublicClient({ transport: http(world.chain.rpcUrl) })
    const before = await rpc.getBlockNumber()
    const { data, response } = await openai.chat.completions.create(ask('And now?')).withResponse()
    expect(data.choices[0]?.message.content).toBe('yes')
    const job = await client.job(response.headers.get('x-svc-job-id') as JobId)
    expect(job.list.block.number).toBeLessThanOrEqual(before)
    await until(async () => ((await stored()) === 3 ? true : undefined), 'no other key is stored')
    expect(await logOf(gateway)).not.toContain('no key stored ahead')
  })

  it('gets a completion that a quorum agreed on, with the receipt in its headers', async () => {
    const token = `token ${randomUUID()}`
    answer = () => token
    provider.calls.length = 0
    const prompt = `When does the ferry leave, ${randomUUID()}?`
    const { data, response } = await openai.chat.completions
      .create({ ...ask(prompt), model: 'gpt-4o', max_completion_tokens: 50 })
      .withResponse()
    expect(data.choices[0]?.message.content).toBe(token)
    expect([data.object, data.model, data.choices[0]?.finish_reason]).toEqual([
      'chat.completion',
      model,
      'stop',
    ])
    expect(provider.calls.map((call) => call.prompt)).toEqual([prompt, prompt, prompt])
    const job = await client.job(response.headers.get('x-svc-job-id') as JobId)
    expect([job.status, job.receipt_hash, job.commit_tx]).toEqual([
      'accepted',
      response.headers.get('x-svc-receipt-hash') as `0x${string}`,
      response.headers.get('x-svc-commit-tx') as `0x${string}`,
    ])
    const log = await logOf(gateway)
    expect([log.includes(job.jobId), log.includes(prompt), log.includes(token)]).toEqual([
      true,
      false,
      false,
    ])
    expect([log.includes(key), log.includes('key=tests')]).toEqual([false, true])
  })

  it('has a conversation reach the providers with every part, and hears what a model cannot take', async () => {
    answer = () => '{"Kiel": "9:10"}'
    provider.calls.length = 0
    // A model writes members in the order of the schema, so no schema may be sorted on the way.
    const properties = { reasoning: { type: 'string' }, port: { minLength: 1, default: 'Kiel' } }
    const parameters = { type: 'object', properties, required: ['reasoning', 'port'] }
    const called = { name: 'departures', arguments: '{"port":"Kiel"}' }
    const asked = {
      messages: [
        { role: 'system' as const, content: 'Be short.' },
        { role: 'user' as const, content: 'When does the ferry leave?' },
        {
          ...{ role: 'assistant' as const, content: null },
          tool_calls: [{ id: 'call_1', type: 'function' as const, function: called }],
        },
        { role: 'tool' as const, tool_call_id: 'call_1', content: '9:10' },
      ],
      tools: [{ type: 'function' as const, function: { name: 'departures', parameters } }],
      ...{ tool_choice: 'none' as const, parallel_tool_calls: false },
      response_format: {
        type: 'json_schema' as const,
        json_schema: { name: 'times', schema: parameters, strict: true },
      },
      stop: ['END'],
      seed: 7,
    }
    const { choices, usage } = await openai.chat.completions.create({ ...asked, model })
    expect(usage).toEqual({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 })
    expect(choices[0]?.message.content).toBe('{"Kiel":"9:10"}')
    expect(provider.calls).toHaveLength(3)
    for (const { body } of provider.calls) {
      expect(body).toMatchObject(asked)
      const { tools, response_format } = asked
      expect(JSON.stringify([body.tools, body.response_format])).toBe(
        JSON.stringify([tools, response_format]),
      )
    }

    provider.calls.length = 0
    const json = { response_format: { type: 'json_object' as const } }
    const refused = await openai.chat.completions
      .create({ ...ask('Who?'), ...json, model: 'anthropic:claude-sonnet-5-5' })
      .catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 400, code: 'unsupported_value' })
    expect((refused as Error).message).toContain('0 take json_object, and a job needs 3')
    expect(provider.calls).toEqual([])
  })

  it('hears that a plain answer was cut off', async () => {
    answer = () => `The ferry${cutOff}`
    const { choices } = await openai.chat.completions.create(ask('And where does it go?'))
    expect(choices[0]).toMatchObject({ finish_reason: 'length' })
  })

  it.each([model, 'anthropic:claude-sonnet-5-5'])(
    'carries out calls of tools of %s',
    async (name) => {
      answer = ({ body }) =>
        JSON.stringify(body.messages).includes('9:10')
          ? 'It leaves at 9:10.'
          : [{ name: 'departures', input: { port: 'Kiel', day: 1 } }]
      const parameters = { type: 'object', properties: { port: { type: 'string' } } }
      const asked = {
        ...ask('When does the ferry leave?'),
        model: name,
        tools: [{ type: 'function' as const, function: { name: 'departures', parameters } }],
      }
      const first = await openai.chat.completions.create(asked)
      const [choice] = first.choices
      expect([choice?.finish_reason, choice?.message.content]).toEqual(['tool_calls', null])
      const [call] = choice?.message.tool_calls ?? []
      expect(call).toMatchObject({
        function: { name: 'departures', arguments: '{"day":1,"port":"Kiel"}' },
      })
      const result = { role: 'tool' as const, tool_call_id: call!.id, content: '9:10' }
      const messages = [...asked.messages, choice!.message, result]
      const stream = openai.chat.completions.stream({ ...asked, messages })
      expect(await stream.finalContent()).toBe('It leaves at 9:10.')
      const again = openai.chat.completions.stream(asked)
      const { tool_calls: calls } = (await again.finalMessage()) as { tool_calls: unknown[] }
      expect(calls).toMatchObject([
        { function: { name: 'departures', arguments: '{"day":1,"port":"Kiel"}' } },
      ])
    },
    loadedMs,
  )

  it('gets the same as a stream, which begins when the job is submitted and ends with the receipt', async () => {
    const token = `${'a long answer '.repeat(12)}${randomUUID()}`
    answer = () => token
    const { data: stream, response } = await openai.chat.completions
      .create({ ...ask('Tell me more.'), stream: true, stream_options: { include_usage: true } })
      .withResponse()
    expect(response.headers.get('x-svc-job-id')).toMatch(/^0x[0-9a-f]{64}$/)
    const pieces: string[] = []
    const ends: unknown[] = []
    const receipts: unknown[] = []
    for await (const chunk of stream) {
      const { choices } = chunk
      if ('svc' in chunk) receipts.push(chunk.svc)
      pieces.push(choices[0]?.delta.content ?? '')
      if (choices[0]?.finish_reason) ends.push(choices[0].finish_reason)
    }
    expect(pieces.length).toBeGreaterThan(3)
    expect([pieces.join(''), ends]).toEqual([token, ['stop']])
    expect(receipts).toEqual([
      expect.objectContaining({ receipt_hash: expect.stringMatching(/^0x/) }),
    ])
  })

  it('gets the models, and each of them', async () => {
    const models = []
    for await (const one of openai.models.list()) models.push(one.id)
    expect(models.toSorted((a, b) => a.localeCompare(b))).toEqual([
      'anthropic:claude-sonnet-5-5',
      'gpt-4o',
      model,
    ])
    expect(await openai.models.retrieve(model)).toMatchObject({ id: model, owned_by: 'openai' })
  })

  it('gets errors of its own kinds', async () => {
    const completion = (changes: object) =>
      openai.chat.completions.create({ ...ask('Hello'), ...changes }).then(
        () => undefined,
        (error: unknown) => error,
      )
    const unknown = await completion({ model: 'openai:gpt-unknown' })
    expect(unknown).toBeInstanceOf(OpenAI.NotFoundError)
    expect(unknown).toMatchObject({ status: 404, code: 'model_not_found', param: 'model' })
    const none = await completion({ stream: true, stop: ['a', 'b', 'c', 'd', 'e'] })
    expect(none).toBeInstanceOf(OpenAI.BadRequestError)
    expect(none).toMatchObject({ status: 400, code: 'invalid_value', param: 'stop' })
    const gone = await openai.models.retrieve('openai:gpt-unknown').catch((error) => error)
    expect(gone).toBeInstanceOf(OpenAI.NotFoundError)
    const stranger = new OpenAI({ baseURL, apiKey: 'another key' })
    const refused = await stranger.models.list().catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(OpenAI.AuthenticationError)
  })

  it('hears for how long the providers limit a model, which stays in the list', async () => {
    answer = () => 3_600
    const limited = 'anthropic:claude-sonnet-5-5'
    for (let time = 0; time < 3; time++) {
      const failed = await openai.chat.completions
        .create({ ...ask('Is the gate open?'), model: limited }, { maxRetries: 0 })
        .catch((error: unknown) => error)
      expect(failed).toBeInstanceOf(OpenAI.RateLimitError)
      const { headers } = failed as InstanceType<typeof OpenAI.RateLimitError>
      expect(Number(headers?.get('retry-after'))).toBeGreaterThanOrEqual(600)
    }
    expect(await openai.models.retrieve(limited)).toMatchObject({ id: limited })
  })

  it('gets no answer when the nodes disagree, and makes no other job of it', async () => {
    const before = (await client.jobs()).jobs.length
    // Unrelated answers have a little chance to pass as similar; two at once have none to speak of.
    const answers = [breadAnswer, liftAnswer, Array.from({ length: 40 }, randomUUID).join(' ')]
    answer = ({ key: node }) => answers[Number(node.replace('key-', '')) % answers.length]
    const failed = await openai.chat.completions
      .create(ask(`Who is right about ${randomUUID()}?`))
      .catch((error: unknown) => error)
    expect(failed).toMatchObject({ status: 502 })
    expect((failed as { code: string }).code).toMatch(/^job_(disputed|rejected)$/)
    expect((await client.jobs()).jobs.length).toBe(before + 1)
  })
})

it('a caller learns that a body is too large, whether or not it states its length', async () => {
  const { port } = new URL(baseURL)
  const status = await new Promise<number | undefined>((resolve, reject) => {
    const call = request(
      {
        ...{ host: '127.0.0.1', port, path: '/v1/chat/completions', method: 'POST' },
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      },
      (response) => {
        resolve(response.statusCode)
        response.resume()
      },
    )
    call.on('error', reject)
    call.end(JSON.stringify(ask('x'.repeat(4_200_000))))
  })
  expect(status).toBe(413)
})

describe('what the docs show', () => {
  const root = new URL('../../../', import.meta.url).pathname

  it('runs: the example with the openai package', async () => {
    answer = () => 'Three uses.'
    const example = join(root, 'examples', 'openai-gateway.ts')
    const { stdout } = await run(process.execPath, [example], {
      env: { ...process.env, OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: key, NO_PROXY: '127.0.0.1' },
    })
    expect(stdout).toMatch(/^Three uses\.\nreceipt 0x[0-9a-f]{64}\n$/)
    const docs = await readFile(join(root, 'docs', 'gateway.md'), 'utf8')
    expect(docs).toContain(`\`\`\`ts\n${await readFile(example, 'utf8')}\`\`\``)
  })

  it('runs: the call by curl', async () => {
    answer = () => 'Three uses.'
    const docs = await readFile(join(root, 'docs', 'gateway.md'), 'utf8')
    const block = /```sh\n(curl [\s\S]*?)```/.exec(docs)?.[1] ?? ''
    const here = block
      .replace('http://127.0.0.1:8787/v1', baseURL)
      .replace('Bearer any', `Bearer ${key}`)
    const { stdout } = await run('sh', ['-c', here], {
      env: { ...process.env, NO_PROXY: '127.0.0.1' },
    })
    expect(JSON.parse(stdout).choices[0].message.content).toBe('Three uses.')
  })
})

it('a gateway that has to end cancels the jobs under way, also of a caller who has just left, and ends well', async () => {
  const prompts = ['Wait again.', 'Wait as well.']
  const asked = Promise.withResolvers<void>()
  const held = Promise.withResolvers<string>()
  const seen = new Set<string>()
  answer = ({ prompt }) => {
    seen.add(prompt)
    if (seen.size === prompts.length) asked.resolve()
    return held.promise
  }
  const leave = new AbortController()
  const [failed, left] = prompts.map((prompt, at) =>
    openai.chat.completions
      .create(ask(prompt), { maxRetries: 0, ...(at === 1 && { signal: leave.signal }) })
      .catch((error: unknown) => error),
  )
  await asked.promise
  leave.abort()
  await left
  gateway.kill('SIGTERM')
  expect(await gateway.exited).toBe(0)
  expect(await failed).toMatchObject({ status: 503, code: 'gateway_stopped' })
  const newest = (await client.jobs()).jobs.slice(0, prompts.length)
  const states = newest.map(async ({ jobId }) => (await client.job(jobId)).status)
  expect(await Promise.all(states)).toEqual(['cancelled', 'cancelled'])
  held.resolve('too late')
})

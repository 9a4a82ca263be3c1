import { randomUUID } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import { afterAll, describe, expect, it } from 'vitest'
import { createProcesses } from '../../../demo/processes.ts'
import { startWorld } from '../../../demo/world.ts'
import { createClient } from '../../../lib/client/client.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { builtBinary } from '../../binary/executable.ts'
import { startProviderServer } from '../../e2e/provider-server.ts'
import { until } from '../../eventually.ts'
import { startGateway } from '../../gateway-process.ts'

const models = ['openai:gpt-4o-mini', 'anthropic:claude-sonnet-5-5'] as const
const [model] = models
const loadedMs = 180_000

let answer: Parameters<typeof startProviderServer>[0] = () => ''
const stops: (() => Promise<void>)[] = []
const provider = await startProviderServer((call) => answer(call))
stops.unshift(provider.stop)
const world = await startWorld({
  models: [...models],
  nodeBinary: await builtBinary(),
  providerEnv: (index) => ({
    ...{ OPENAI_API_KEY: `key-${index}`, ANTHROPIC_API_KEY: `key-${index}` },
    ...{ SVC_OPENAI_BASE_URL: provider.openaiUrl, SVC_ANTHROPIC_BASE_URL: provider.anthropicUrl },
  }),
})
stops.unshift(world.stop)
const processes = createProcesses(world.folder)
stops.unshift(processes.close)
const url = await startGateway(processes, world)
const anthropic = new Anthropic({ baseURL: new URL(url).origin, apiKey: 'any', logLevel: 'off' })
const { rpcUrl, client: account } = world.chain
const client = await createClient({ icl: world.icl.url, rpcUrl, account })

afterAll(async () => {
  for (const stop of stops) await stop()
}, 60_000)

const ask = (content: string) => ({
  ...{ model, max_tokens: 100 },
  messages: [{ role: 'user' as const, content }],
})

describe('the package of Anthropic at the gateway', () => {
  it('gets a message that a quorum agreed on, with the receipt in its headers', async () => {
    const token = `token ${randomUUID()}`
    answer = () => token
    const system = [{ type: 'text' as const, text: 'Be short.' }]
    const { data, response } = await anthropic.messages
      .create({ ...ask('Who?'), system, stop_sequences: ['END'] })
      .withResponse()
    expect(data).toMatchObject({ content: [{ type: 'text', text: token }], usage: {}, model })
    expect(provider.calls).toHaveLength(3)
    for (const { body } of provider.calls) {
      expect(body).toMatchObject({
        messages: [{ role: 'system', content: 'Be short.' }, { content: 'Who?' }],
        stop: ['END'],
      })
    }
    const job = await client.job(response.headers.get('x-svc-job-id') as JobId)
    expect([job.status, job.receipt_hash]).toEqual([
      'accepted',
      response.headers.get('x-svc-receipt-hash'),
    ])
  })

  it.each(models)(
    'carries out calls of tools of %s, also as a stream',
    async (name) => {
      answer = ({ body }) =>
        JSON.stringify(body.messages).includes('9:10')
          ? 'It leaves at 9:10.'
          : [{ name: 'departures', input: { port: 'Kiel', day: 1 } }]
      const input_schema = {
        type: 'object' as const,
        properties: { port: { type: 'string' as const } },
      }
      const asked = {
        ...{ ...ask('When does the ferry leave?'), model: name },
        tools: [{ name: 'departures', input_schema }],
      }
      const { content, stop_reason } = await anthropic.messages.stream(asked).finalMessage()
      expect([stop_reason, content]).toMatchObject([
        'tool_use',
        [{ name: 'departures', input: { port: 'Kiel', day: 1 } }],
      ])
      const [call] = content as { id: string }[]
      const result = { type: 'tool_result' as const, tool_use_id: call!.id, content: '9:10' }
      const messages = [
        ...asked.messages,
        { role: 'assistant' as const, content },
        { role: 'user' as const, content: [result] },
      ]
      const stream = anthropic.messages.stream({ ...asked, messages })
      expect(await stream.finalText()).toBe('It leaves at 9:10.')
    },
    loadedMs,
  )

  it('who leaves has its job cancelled', async () => {
    const held = Promise.withResolvers<string>()
    const asked = Promise.withResolvers<void>()
    answer = () => {
      asked.resolve()
      return held.promise
    }
    const leave = new AbortController()
    const left = anthropic.messages
      .create(ask('Wait.'), { signal: leave.signal })
      .catch((error: unknown) => error)
    await asked.promise
    leave.abort()
    expect(await left).toBeInstanceOf(Anthropic.APIUserAbortError)
    const [newest] = (await client.jobs()).jobs
    await until(async () => (await client.job(newest!.jobId)).status === 'cancelled')
    held.resolve('too late')
  })
})

import { describe, expect, it } from 'vitest'
import { takenBy } from '../../../lib/providers.ts'
import { systemClock } from '../../../lib/system.ts'
import { offerModels } from '../../../node/inference/models.ts'
import { createHeartbeat } from '../../../node/loops/heartbeat.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { recordingLog } from '../fakes.ts'

const log = recordingLog()
const config = {
  supported_model_ids: ['openai:gpt-x', 'anthropic:claude-y', 'openai:org/z:1'],
  providers: {},
}
const server = { base_url: 'http://127.0.0.1:1', allow_http: false }

describe('the models a node offers', () => {
  it('are those whose provider key is set; the others name the variable that is missing', async () => {
    const { models, keyless, missingKeys } = await offerModels(
      config,
      { OPENAI_API_KEY: 'k' },
      systemClock,
      log,
    )
    expect([...models.keys()]).toEqual(['openai:gpt-x', 'openai:org/z:1'])
    expect(models.get('openai:org/z:1')?.model).toBe('org/z:1')
    expect(missingKeys).toEqual([{ modelId: 'anthropic:claude-y', variable: 'ANTHROPIC_API_KEY' }])
    expect([...keyless.keys()]).toEqual(['anthropic:claude-y'])
  })

  it('are told in the heartbeat with what each takes, as the operator says it of a server', async () => {
    const takes = { parts: ['stop' as const], max_output_tokens: 2_048 }
    const { models } = await offerModels(
      {
        supported_model_ids: ['openai:gpt-4o', 'ollama:llama3:8b'],
        providers: { ollama: { ...server, takes } },
      },
      { OPENAI_API_KEY: 'k' },
      systemClock,
      log,
    )
    const beats: unknown[] = []
    const beat = createHeartbeat({
      api: {
        postHeartbeat: async ({ body }) => {
          beats.push(body)
          return { status: 'ok', certificate_expires_at: 1, eligible: true, reasons: [] }
        },
      },
      ...{ address: nodeAddress('a'), version: '1', models: () => models, comparators: ['exact'] },
      withdrawn: () =>
        new Map([
          ['openai:o1', { reason: 'provider-rate-limited', leftMs: () => 1_001 }],
          ['openai:o3', { reason: 'provider-quota-used-up', leftMs: () => undefined }],
        ]),
      ...{ takesWork: () => true, freeSlots: () => 1, clock: systemClock, log: recordingLog() },
    })
    await beat()
    expect(beats).toMatchObject([
      {
        withdrawn: [
          { model_id: 'openai:o1', reason: 'provider-rate-limited', retry_after: 2 },
          { model_id: 'openai:o3', reason: 'provider-quota-used-up' },
        ],
        model_takes: [
          { model_id: 'openai:gpt-4o', parts: takenBy('openai:gpt-4o').parts },
          { model_id: 'ollama:llama3:8b', ...takes },
        ],
      },
    ])
  })

  it('need a key for a server of one s own, too', async () => {
    const local = { ...config, providers: { openai: server } }
    const { models } = await offerModels(local, { OPENAI_API_KEY: '' }, systemClock, log)
    expect(models.size).toBe(0)
  })

  it('are those of any server by its name, whose models may have colons and slashes', async () => {
    const ids = ['ollama:llama3:8b', 'openrouter:meta-llama/llama-3-70b', 'closed:x']
    const { models, missingKeys } = await offerModels(
      {
        supported_model_ids: ids,
        providers: {
          ...{ ollama: server, openrouter: server },
          closed: { ...server, api_key_env: 'OUR_KEY' },
        },
      },
      {},
      systemClock,
      log,
    )
    expect([...models].map(([id, { model }]) => [id, model])).toEqual([
      ['ollama:llama3:8b', 'llama3:8b'],
      ['openrouter:meta-llama/llama-3-70b', 'meta-llama/llama-3-70b'],
    ])
    expect(missingKeys).toEqual([{ modelId: 'closed:x', variable: 'OUR_KEY' }])
  })

  it('are of no provider that is neither built in nor configured', async () => {
    const unknown = { supported_model_ids: ['opnai:gpt-x'], providers: { ollama: server } }
    await expect(offerModels(unknown, {}, systemClock, log)).rejects.toMatchObject({
      code: 'provider-unknown',
      message: expect.stringMatching(/Known are openai, .*\bollama\./),
    })
  })
})

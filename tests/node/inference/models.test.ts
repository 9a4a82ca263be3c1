import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../lib/system.ts'
import { offerModels } from '../../../node/inference/models.ts'
import { recordingLog } from '../fakes.ts'

const log = recordingLog()
const config = { supported_model_ids: ['openai:gpt-x', 'anthropic:claude-y', 'openai:org/z:1'] }

describe('the models a node offers', () => {
  it('are those whose provider key is set; the others name the variable that is missing', async () => {
    const { models, missingKeys } = await offerModels(
      config,
      { OPENAI_API_KEY: 'k' },
      systemClock,
      log,
    )
    expect([...models.keys()]).toEqual(['openai:gpt-x', 'openai:org/z:1'])
    expect(models.get('openai:org/z:1')?.model).toBe('org/z:1')
    expect(missingKeys).toEqual([{ modelId: 'anthropic:claude-y', variable: 'ANTHROPIC_API_KEY' }])
  })

  it('need a key for a server of one s own, too', async () => {
    const local = { ...config, openai_base_url: 'http://127.0.0.1:1' }
    const { models } = await offerModels(local, { OPENAI_API_KEY: '' }, systemClock, log)
    expect(models.size).toBe(0)
  })
})

import { describe, expect, it } from 'vitest'
import { onlySamples } from '../../lib/providers.ts'

describe('a model', () => {
  it('is known to word each answer anew, where no call can ask for the likeliest one', () => {
    const sampled = ['anthropic:claude-sonnet-4-5', 'openai:o3-mini', 'openai:gpt-5']
    expect(sampled.filter((model) => !onlySamples(model))).toEqual([])
  })

  it('is not said to, where one can, or where nothing is known of it', () => {
    const others = ['openai:gpt-4o', 'openai:gpt-4o-mini', 'ollama:llama3:8b', 'own:o1']
    expect(others.filter(onlySamples)).toEqual([])
  })
})

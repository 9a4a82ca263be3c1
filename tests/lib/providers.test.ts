import { describe, expect, it } from 'vitest'
import { onlySamples, takenBy } from '../../lib/providers.ts'
import { PromptPart } from '../../lib/schemas/prompt-needs.ts'

describe('a model', () => {
  it('is known to word each answer anew, where no call can ask for the likeliest one', () => {
    const sampled = ['anthropic:claude-sonnet-5-5', 'openai:o3-mini', 'openai:gpt-5']
    expect(sampled.filter((model) => !onlySamples(model))).toEqual([])
  })

  it('takes what the API of its provider has a place for, but for what the provider documents', () => {
    const all = PromptPart.options.filter((part) => part !== 'teacher')
    const but = (...lacks: string[]) => all.filter((part) => !lacks.includes(part))
    expect(takenBy('openai:gpt-4o-mini')).toEqual({ parts: but('reasoning_effort') })
    expect(takenBy('openai:gpt-5')).toEqual({ parts: but('stop') })
    expect(takenBy('ollama:llama3:8b')).toEqual({ parts: all })
    expect(takenBy('openai:o3-mini')).toEqual({ parts: but('stop', 'parallel_tool_calls') })
    expect(takenBy('openai:gpt-4')).toEqual({
      ...{ parts: but('json_object', 'json_schema', 'reasoning_effort') },
      ...{ max_prompt_bytes: 8_192, max_output_tokens: 4_096 },
    })
    expect(takenBy('anthropic:claude-haiku-4-5')).toEqual({
      parts: ['json_schema', 'parallel_tool_calls', 'stop', 'tools'],
    })
    expect(takenBy('anthropic:claude-3-haiku-20240307')).toEqual({
      ...{ parts: ['parallel_tool_calls', 'stop', 'tools'], max_output_tokens: 4_096 },
    })
  })

  it('is not said to, where one can, or where nothing is known of it', () => {
    const others = ['openai:gpt-4o', 'openai:gpt-4o-mini', 'ollama:llama3:8b', 'own:o1']
    expect(others.filter(onlySamples)).toEqual([])
  })
})

import { describe, expect, it } from 'vitest'
import { promptOfText } from '../../lib/prompt.ts'
import { needsOf, unmetNeeds } from '../../lib/prompt-needs.ts'
import { samplePrompt } from '../sample-prompt.ts'

describe('what a prompt needs', () => {
  it('is nothing for a short conversation with an answer of the usual length', () => {
    const messages = [
      { role: 'system' as const, content: 'Be short.' },
      { role: 'user' as const, content: 'Why?' },
    ]
    expect(needsOf({ version: 1, messages }, 1_024)).toBeUndefined()
    expect(needsOf(promptOfText('x'.repeat(8_000)))).toBeUndefined()
  })

  it('is told by part and in coarse sizes, and says nothing of the content', () => {
    expect(needsOf(samplePrompt, 2_000)).toEqual({
      parts: ['json_schema', 'seed', 'stop', 'tools'],
      output_tokens: 2_000,
    })
    const late = { role: 'system' as const, content: 'Now.' }
    const named = { role: 'user' as const, content: 'Who?', name: 'Ada' }
    const prompt = { version: 1 as const, messages: [named, late] }
    expect(needsOf({ ...prompt, response_format: { type: 'json_object' } })).toEqual({
      parts: ['json_object', 'late_system', 'names'],
    })
    expect(needsOf({ ...prompt, messages: [late] })).toEqual({ parts: ['late_system'] })
    for (const length of [9_000, 16_000]) {
      expect(needsOf(promptOfText('x'.repeat(length)))).toEqual({ prompt_bytes: 16_384 })
    }
  })

  it('is met by a model that takes every part, and both sizes', () => {
    const needs = { parts: ['seed' as const], prompt_bytes: 16_384, output_tokens: 4_097 }
    expect(unmetNeeds({ parts: ['seed', 'stop'] }, needs)).toEqual([])
    expect(
      unmetNeeds({ parts: ['stop'], max_prompt_bytes: 16_383, max_output_tokens: 4_096 }, needs),
    ).toEqual(['seed', 'a prompt of 16384 bytes', 'an answer of 4097 tokens'])
    expect(unmetNeeds(undefined, { parts: ['seed'] })).toEqual(['seed'])
    expect(unmetNeeds(undefined, undefined)).toEqual([])
  })
})

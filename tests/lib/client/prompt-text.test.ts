import { describe, expect, it } from 'vitest'
import { checkPrompt, maxPromptBytes } from '../../../lib/client/prompt-text.ts'
import type { PromptDocument } from '../../../lib/schemas/prompt.ts'
import { codeOf } from '../../code-of.ts'

const withTools = (choice: Pick<PromptDocument, 'tool_choice'>): PromptDocument => ({
  version: 1,
  messages: [{ role: 'user', content: 'What is the weather?' }],
  tools: [{ name: 'look', parameters: { type: 'object' } }],
  ...choice,
})
const check = async (prompt: PromptDocument) => checkPrompt(prompt, maxPromptBytes)

describe('a prompt with tools', () => {
  it('is taken where none may be called: the answer is one text', async () => {
    const prompt = withTools({ tool_choice: 'none' })
    expect(await check(prompt)).toEqual(prompt)
  })

  it('is refused before anything is paid where one may be', async () => {
    const choices = [{}, { tool_choice: 'auto' }, { tool_choice: 'required' }] as const
    for (const choice of [...choices, { tool_choice: { name: 'look' } }]) {
      expect([choice, await codeOf(check(withTools(choice)))]).toEqual([choice, 'prompt-invalid'])
    }
  })
})

import { expect, it } from 'vitest'
import { checkPrompt, maxPromptBytes } from '../../../lib/client/prompt-text.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import type { PromptDocument } from '../../../lib/schemas/prompt.ts'
import { codeOf } from '../../code-of.ts'

const withTools = (choice: Pick<PromptDocument, 'tool_choice'>): PromptDocument => ({
  version: 1,
  messages: [{ role: 'user', content: 'What is the weather?' }],
  tools: [{ name: 'look', parameters: { type: 'object' } }],
  ...choice,
})
const check = async (prompt: PromptDocument) => checkPrompt(prompt, maxPromptBytes)

it('a prompt with tools is taken, whichever of them may be called', async () => {
  const choices = [{}, { tool_choice: 'none' }, { tool_choice: 'required' }] as const
  for (const choice of [...choices, { tool_choice: { name: 'look' } }]) {
    expect(await check(withTools(choice))).toEqual(withTools(choice))
  }
  expect(await codeOf(check(withTools({ tool_choice: { name: 'hear' } })))).toBe('prompt-invalid')
})

it('a prompt that is too long is refused for its bytes, however long one of its texts is', async () => {
  const tooLong = promptOfText('a'.repeat(maxPromptBytes + 60_000))
  expect(await codeOf(check(tooLong))).toBe('prompt-too-long')
})

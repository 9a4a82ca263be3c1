import { mayCallTools, type Said, writeAnswer } from '../../lib/answer.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import { ProviderFault } from './provider-fault.ts'
import { notOfProtocol } from './provider-fetch.ts'

/** Returns the text of a model's answer to seal, empty if the answer is. Throws ProviderFault when it calls a tool that it may not. */
export function sealedText(prompt: PromptDocument, said: Said): string {
  const { toolCalls = [] } = said
  if (toolCalls.length > 0 && !mayCallTools(prompt)) {
    throw new ProviderFault('prompt-not-supported', 'called a tool, which it may not')
  }
  const names = toolCalls.map(({ name }) => name)
  const isNamed = names.every((name) => prompt.tools?.some((tool) => tool.name === name))
  if (!isNamed || names.length > maxCalls) throw notOfProtocol()
  return writeAnswer(prompt, said)
}

const maxCalls = 128

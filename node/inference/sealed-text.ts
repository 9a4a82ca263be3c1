import { endedBy, mayCallTools, type Said, writeAnswer } from '../../lib/answer.ts'
import { utf8 } from '../../lib/digest.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { ToolName } from '../../lib/schemas/answer.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import { outputSealBytes } from '../../lib/sealing/output.ts'
import type { Completed, Usage } from './provider.ts'
import { ProviderFault } from './provider-fault.ts'

export const maxCalls = 128
const maxTextBytes = maxBlobBytes - outputSealBytes

/** The fault when a model refuses to answer, or its provider filters the answer. What there is of it is not the model's answer. */
export const refusedAnswer = () =>
  new ProviderFault('provider-refused', 'refused or filtered the answer')

/** The fault when a model calls more tools than an answer has room for. */
export const tooManyCalls = () =>
  new ProviderFault('provider-answer-too-large', `called more than ${maxCalls} tools`)

/** Returns a model's answer with the text to seal. Throws ProviderFault when it is empty or too long, or calls a tool that it may not. */
export const completedBy = (prompt: PromptDocument, said: Said, usage?: Usage): Completed => ({
  text: sealedText(prompt, said),
  ended: endedBy(said),
  ...(usage && { usage }),
})

function sealedText(prompt: PromptDocument, said: Said): string {
  const { toolCalls = [] } = said
  if (toolCalls.length > 0 && !mayCallTools(prompt)) {
    throw new ProviderFault('prompt-not-supported', 'called a tool, which it may not')
  }
  if (!toolCalls.every(({ name }) => ToolName.safeParse(name).success)) {
    throw new ProviderFault('prompt-not-supported', 'called a tool by what cannot be a name')
  }
  if (toolCalls.length > maxCalls) throw tooManyCalls()
  const text = writeAnswer(prompt, said)
  if (text.trim() === '') throw new ProviderFault('provider-answer-empty', 'gave an empty answer')
  if (utf8(text).length <= maxTextBytes) return text
  const length = `gave an answer of more than ${maxTextBytes} bytes`
  throw new ProviderFault('provider-answer-too-large', length)
}

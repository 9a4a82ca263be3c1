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

// These are the bad ends: a good one has many names.
const filtered =
  /^(refusal|content_filter|safety|prohibited_content|recitation|sensitive|guardrail)/
const brokenOff =
  /error|abort|fail|timeout|cancel|insufficient|malformed|^function_call_filter|^other$/

/** Throws when a filter or a fault ended an answer. Providers say it with status 200. */
export function checkReason(reason: string): void {
  if (filtered.test(reason)) throw refusedAnswer()
  if (!brokenOff.test(reason)) return
  throw new ProviderFault('provider-unavailable', 'failed halfway in its answer')
}

/** The fault when a model calls more tools than an answer has room for. */
export const tooManyCalls = () =>
  new ProviderFault('provider-answer-too-large', `called more than ${maxCalls} tools`)

/** Returns a model's answer with the text to seal. Throws ProviderFault when it is empty or too long, or does not keep to `tool_choice`. */
export function completedBy(prompt: PromptDocument, answer: Said, usage?: Usage): Completed {
  const { toolCalls = [] } = answer
  const isOne = prompt.parallel_tool_calls === false
  const said = isOne ? { ...answer, toolCalls: toolCalls.slice(0, 1) } : answer
  return { text: sealedText(prompt, said), ended: endedBy(said), ...(usage && { usage }) }
}

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
  checkDemand(prompt, said)
  if (utf8(text).length <= maxTextBytes) return text
  const length = `gave an answer of more than ${maxTextBytes} bytes`
  throw new ProviderFault('provider-answer-too-large', length)
}

/** Throws when the prompt demands a call and the answer has another one, or ended without one. Some servers ignore the demand. */
function checkDemand({ tool_choice: choice }: PromptDocument, { toolCalls = [], isCut }: Said) {
  const name = typeof choice === 'object' ? choice.name : undefined
  if (name !== undefined && toolCalls.some((call) => call.name !== name)) {
    throw new ProviderFault('prompt-not-supported', 'called another tool than the prompt demands')
  }
  const isDemanded = choice === 'required' || name !== undefined
  if (!isDemanded || isCut || toolCalls.length > 0) return
  throw new ProviderFault('prompt-not-supported', 'called no tool, although the prompt demands it')
}

import type Anthropic from '@anthropic-ai/sdk'
import type { PromptDocument, PromptMessage } from '../../lib/schemas/prompt.ts'
import { sentName } from './openai-prompt.ts'
import { ProviderFault } from './provider-fault.ts'

type Request = Anthropic.MessageCreateParamsNonStreaming
type Turn = Exclude<PromptMessage, { readonly role: 'system' }>

/** Converts a prompt to Anthropic's request. Throws ProviderFault `prompt-not-supported` for a part that the API does not take. */
export function anthropicPrompt(prompt: PromptDocument): Omit<Request, 'model' | 'max_tokens'> {
  const { messages, tools, response_format: format, stop, seed } = prompt
  if (seed !== undefined) throw cannotTake('a seed')
  if (format?.type === 'json_object') throw cannotTake('the response format json_object')
  if (stop?.some((one) => one.trim() === '')) throw cannotTake('a stop that is white space')
  if (messages.some((message) => 'name' in message && message.name !== undefined)) {
    throw cannotTake('names of speakers')
  }
  const { system, turns } = splitSystem(messages)
  const choice = choiceOf(prompt)
  const output = outputOf(prompt)
  return {
    ...(system.length > 0 && { system: system.map((text) => ({ type: 'text' as const, text })) }),
    messages: turnsOf(turns),
    ...(tools && {
      tools: tools.map(({ parameters, ...tool }) => ({
        ...tool,
        input_schema: { ...parameters, type: 'object' as const },
      })),
    }),
    ...(choice && { tool_choice: choice }),
    ...(output && { output_config: output }),
    ...(stop && { stop_sequences: stop }),
  }
}

const cannotTake = (what: string): ProviderFault =>
  new ProviderFault('prompt-not-supported', `does not take ${what}`)

function splitSystem(messages: readonly PromptMessage[]) {
  const system: string[] = []
  const turns: Turn[] = []
  for (const message of messages) {
    if (message.role !== 'system') turns.push(message)
    else if (turns.length > 0) throw cannotTake('a system message after others')
    else system.push(message.content)
  }
  if (turns.length === 0) throw cannotTake('a prompt of system messages alone')
  return { system, turns }
}

/** Consecutive results of tools become one user message. */
function turnsOf(turns: readonly Turn[]): Anthropic.MessageParam[] {
  const params: Anthropic.MessageParam[] = []
  let results: Anthropic.ToolResultBlockParam[] = []
  for (const turn of turns) {
    if (turn.role === 'tool') {
      if (results.length === 0) params.push({ role: 'user', content: results })
      const { tool_call_id: tool_use_id, content } = turn
      results.push({ type: 'tool_result', tool_use_id, content })
      continue
    }
    results = []
    if (turn.role === 'user' && turn.content === '') throw cannotTake('an empty message')
    if (turn.role === 'user') params.push({ role: 'user', content: turn.content })
    else params.push({ role: 'assistant', content: blocksOf(turn) })
  }
  return params
}

function blocksOf({
  content: text,
  tool_calls: calls = [],
}: Extract<Turn, { readonly role: 'assistant' }>): Anthropic.ContentBlockParam[] {
  return [
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(({ id, name, arguments: written }) => ({
      ...{ type: 'tool_use' as const, id, name: sentName(name), input: inputOf(written) },
    })),
  ]
}

function inputOf(written: string): object {
  try {
    const input: unknown = JSON.parse(written)
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input
  } catch {}
  throw cannotTake('a call of a tool whose arguments are no object of JSON')
}

function choiceOf({
  tool_choice: choice,
  parallel_tool_calls: parallel,
}: PromptDocument): Anthropic.ToolChoice | undefined {
  // Another choice can come with the limit to one call, but this one cannot.
  if (choice === 'none') return { type: 'none' }
  const one = parallel === false ? { disable_parallel_tool_use: true } : {}
  if (typeof choice === 'object') return { type: 'tool', name: choice.name, ...one }
  if (choice === 'required') return { type: 'any', ...one }
  return choice === 'auto' || parallel === false ? { type: 'auto', ...one } : undefined
}

function outputOf({
  response_format: format,
  reasoning_effort: effort,
}: PromptDocument): Anthropic.OutputConfig | undefined {
  if (effort === 'none' || effort === 'minimal') throw cannotTake(`the reasoning effort ${effort}`)
  if (format?.type !== 'json_schema') return effort && { effort }
  return {
    format: { type: 'json_schema', schema: schemaOf(format) },
    ...(effort && { effort }),
  }
}

// The API has no other field for the description.
const schemaOf = ({
  schema,
  description,
}: Extract<PromptDocument['response_format'], { readonly type: 'json_schema' }>) =>
  description === undefined ? schema : { description, ...schema }

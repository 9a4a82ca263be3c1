import type OpenAI from 'openai'
import type { PromptDocument, PromptMessage } from '../../lib/schemas/prompt.ts'
import { failureIn, ProviderReport } from './provider-report.ts'

type Request = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming

/** Converts a prompt to OpenAI's request, without its seed. */
export const openAiPrompt = ({
  messages,
  tools,
  tool_choice: choice,
  parallel_tool_calls: parallel,
  reasoning_effort: effort,
  response_format: format,
  stop,
}: PromptDocument): Omit<Request, 'model'> => ({
  messages: messages.map(messageOf),
  ...(tools && { tools: tools.map((tool) => ({ type: 'function' as const, function: tool })) }),
  ...(choice && {
    tool_choice: typeof choice === 'string' ? choice : { type: 'function', function: choice },
  }),
  ...(parallel === false && { parallel_tool_calls: false }),
  ...(effort && { reasoning_effort: effort }),
  ...(format && format.type !== 'text' && { response_format: formatOf(format) }),
  ...(stop && { stop }),
})

/** Returns the name of a called tool as hosted APIs take it. A model may have made up any other one. */
export const sentName = (name: string): string => name.replace(/[^\w-]/g, '_').slice(0, 64)

function messageOf(message: PromptMessage): OpenAI.Chat.ChatCompletionMessageParam {
  if (message.role !== 'assistant') return message
  const { tool_calls: calls, content = null, ...rest } = message
  const called = calls?.map(({ id, ...call }) => ({
    id,
    type: 'function' as const,
    function: { ...call, name: sentName(call.name) },
  }))
  return { ...rest, content, ...(called && { tool_calls: called }) }
}

function formatOf(format: NonNullable<PromptDocument['response_format']>) {
  if (format.type !== 'json_schema') return format
  const { type, ...schema } = format
  return { type, json_schema: schema }
}

/** The parts of a prompt that a model or server may refuse. */
const promptParts = [
  'tools',
  'tool_choice',
  'parallel_tool_calls',
  'reasoning_effort',
  'response_format',
  'stop',
  'seed',
] as const

/** Returns the part of a prompt that the model or server refuses. OpenAI names it in `param`, others in the message. */
export function refusedIn(error: unknown, prompt: PromptDocument): string | undefined {
  const report = failureIn(error)
  if (!(report instanceof ProviderReport) || report.code !== 'provider-refused') return undefined
  const { param, words } = report
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(param ?? words)
  return promptParts.find((name) => prompt[name] !== undefined && isNamed(name))
}

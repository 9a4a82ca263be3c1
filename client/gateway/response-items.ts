import { z } from 'zod'
import type { PromptMessage } from '../../lib/schemas/prompt.ts'
import { Refusal, Text, textOf } from './chat-messages.ts'

const id = z.string().max(256).nullish()
const status = z.enum(['in_progress', 'completed', 'incomplete']).nullish()
const CallId = z.string().max(256)

const Part = z.object({ type: z.enum(['input_text', 'output_text', 'text']), text: Text })
const Content = z.union([Text, z.array(z.discriminatedUnion('type', [Part, Refusal])).max(256)])

const Message = z.strictObject({
  type: z.literal('message'),
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: Content,
  id,
  status,
  phase: z.string().max(64).nullish(),
})

const Call = z.strictObject({
  type: z.literal('function_call'),
  call_id: CallId,
  name: z.string().max(128),
  arguments: Text,
  id,
  status,
})

const Result = z.strictObject({
  type: z.literal('function_call_output'),
  call_id: CallId,
  output: Content,
  id,
  status,
})

/** What another model thought: it says nothing to this one, and is often encrypted. */
const Reasoning = z.object({ type: z.literal('reasoning') })

// A message may leave out what it is.
const withType = (item: unknown): unknown =>
  typeof item === 'object' && item !== null && 'role' in item && !('type' in item)
    ? { type: 'message', ...item }
    : item

/** One item of a conversation; what is no text, no call of a function and no result of one is refused. */
export const InputItem = z.preprocess(
  withType,
  z.discriminatedUnion('type', [Message, Call, Result, Reasoning]),
)
type InputItem = z.output<typeof InputItem>

/** The messages of items, as a prompt document has them: calls join the assistant's message before them. */
export function messagesOf(items: readonly InputItem[]): readonly PromptMessage[] {
  const messages: PromptMessage[] = []
  for (const item of items) {
    if (item.type === 'reasoning') continue
    const last = messages.at(-1)
    const spoken = last?.role === 'assistant' ? last : undefined
    if (item.type === 'function_call_output') {
      const { call_id, output } = item
      messages.push({ role: 'tool', tool_call_id: call_id, content: textOf(output) })
    } else if (item.type === 'function_call') {
      const { call_id, name, arguments: written } = item
      const call = { id: call_id, name, arguments: written }
      if (spoken) messages.pop()
      const calls = [...(spoken?.tool_calls ?? []), call]
      messages.push({ role: 'assistant', ...spoken, tool_calls: calls })
    } else if (item.role === 'assistant') {
      const content = textOf(item.content)
      if (content === '') continue
      const isOfCalls = spoken?.tool_calls !== undefined && spoken.content === undefined
      if (isOfCalls) messages.pop()
      messages.push({ ...(isOfCalls && spoken), role: 'assistant', content })
    } else {
      const role = item.role === 'user' ? 'user' : 'system'
      const content = textOf(item.content)
      if (role === 'user' || content !== '') messages.push({ role, content })
    }
  }
  return messages
}

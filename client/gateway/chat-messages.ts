import { z } from 'zod'
import type { PromptMessage } from '../../lib/schemas/prompt.ts'

/** A text; the prompt's own schema looks closer. */
export const Text = z.string()

/** A part that is text. Its other members change no answer. */
export const Part = z.object({ type: z.literal('text'), text: Text })

/** The words of a model that refused to answer: a text like others for the next model. */
export const Refusal = z
  .object({ type: z.literal('refusal'), refusal: Text })
  .transform(({ refusal }) => ({ type: 'text' as const, text: refusal }))

/** The text of a message, of its parts that are text. */
export const Content = z.union([Text, z.array(Part).max(256)])
const SaidContent = z.union([Text, z.array(z.discriminatedUnion('type', [Part, Refusal])).max(256)])

const name = z.string().max(64).nullish()

const Call = z.strictObject({
  id: z.string().max(256),
  type: z.literal('function'),
  function: z.strictObject({ name: z.string().max(128), arguments: Text }),
})

const Spoken = z.strictObject({
  role: z.enum(['system', 'developer', 'user']),
  content: Content,
  name,
})

const Answered = z.strictObject({
  role: z.literal('assistant'),
  content: SaidContent.nullish(),
  tool_calls: z.array(Call).max(128).nullish(),
  name,
  refusal: Text.nullish(),
  // The official clients repeat these of an earlier answer. They must be empty.
  annotations: z.array(z.unknown()).max(0).nullish(),
  function_call: z.null().optional(),
  audio: z.null().optional(),
})

const ToolResult = z.strictObject({
  role: z.literal('tool'),
  content: Content.nullish(),
  tool_call_id: z.string().max(256),
})

/** One message of a conversation: only texts and calls of tools. */
export const ChatMessage = z.discriminatedUnion('role', [Spoken, Answered, ToolResult])
type ChatMessage = z.output<typeof ChatMessage>

/** Converts a message for the prompt document: `developer` becomes `system`, parts become lines, empty parts are left out. */
export function promptMessageOf(message: ChatMessage): PromptMessage {
  if (message.role === 'tool') {
    const { role, content, tool_call_id } = message
    return { role, content: textOf(content ?? ''), tool_call_id }
  }
  const named = typeof message.name === 'string' && { name: message.name }
  if (message.role !== 'assistant') {
    const role = message.role === 'user' ? 'user' : 'system'
    return { role, content: textOf(message.content), ...named }
  }
  const content = textOf(message.content ?? '') || (message.refusal ?? '')
  const calls = message.tool_calls ?? []
  return {
    role: 'assistant',
    ...(content !== '' && { content }),
    ...(calls.length > 0 && {
      tool_calls: calls.map(({ id, function: called }) => ({ id, ...called })),
    }),
    ...named,
  }
}

/** Returns the text of a message: its parts are lines. */
export const textOf = (content: string | readonly { readonly text: string }[]): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('\n')

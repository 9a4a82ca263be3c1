import { z } from 'zod'
import type { PromptMessage } from '../../lib/schemas/prompt.ts'
import { Content, Part, Text, textOf } from './chat-messages.ts'
import { JsonSchema } from './prompt-request.ts'

const Id = z.string().max(256)

/** Says where a provider may keep what it read, which changes no answer. */
export const CacheControl = z.unknown().optional()

const Call = z.strictObject({
  type: z.literal('tool_use'),
  id: Id,
  name: z.string().max(128),
  // A model's arguments that did not parse as a JSON object.
  input: z.union([JsonSchema, Text]),
  cache_control: CacheControl,
  caller: z.unknown().optional(),
})

const Result = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: Id,
  content: Content.nullish(),
  is_error: z.boolean().nullish(),
  cache_control: CacheControl,
})

/** Thoughts of another model: they say nothing to this one, and are signed or encrypted. */
const Thought = z.object({ type: z.enum(['thinking', 'redacted_thinking']) })

const contentOf = <Block extends z.ZodType>(block: Block) =>
  z.union([Text, z.array(block).max(256)])

const Asked = z.strictObject({
  role: z.literal('user'),
  content: contentOf(z.discriminatedUnion('type', [Part, Result])),
})

const Answered = z.strictObject({
  role: z.literal('assistant'),
  content: contentOf(z.discriminatedUnion('type', [Part, Call, Thought])),
})

const Instructions = z.strictObject({ role: z.literal('system'), content: Content })

/** One message in Anthropic's form: only texts, calls of tools and their results. */
export const Message = z.discriminatedUnion('role', [Asked, Answered, Instructions])
type Message = z.output<typeof Message>

/** The messages of a prompt document that one message becomes: each result of a tool is one of its own, and thoughts fall away. */
export function promptMessagesOf(message: Message): readonly PromptMessage[] {
  if (message.role === 'system') return systemOf(message.content)
  if (message.role === 'assistant') return answeredOf(message)
  if (typeof message.content === 'string') return [{ role: 'user', content: message.content }]
  const messages: PromptMessage[] = []
  for (const block of message.content) {
    const last = messages.at(-1)
    if (block.type === 'tool_result') {
      const { tool_use_id, content } = block
      messages.push({ role: 'tool', tool_call_id: tool_use_id, content: textOf(content ?? '') })
    } else if (last?.role === 'user') {
      messages.splice(-1, 1, { role: 'user', content: `${last.content}\n${block.text}` })
    } else {
      messages.push({ role: 'user', content: block.text })
    }
  }
  return messages
}

/** The message of instructions, if there are any. */
export function systemOf(content: z.output<typeof Content>): readonly PromptMessage[] {
  const text = textOf(content)
  return text === '' ? [] : [{ role: 'system', content: text }]
}

function answeredOf({ content: given }: z.output<typeof Answered>): readonly PromptMessage[] {
  const blocks = typeof given === 'string' ? [{ type: 'text' as const, text: given }] : given
  const content = textOf(blocks.filter((block) => block.type === 'text'))
  const calls = blocks
    .filter((block) => block.type === 'tool_use')
    .map(({ id, name, input }) => ({
      ...{ id, name },
      arguments: typeof input === 'string' ? input : JSON.stringify(input),
    }))
  if (content === '' && calls.length === 0) return []
  return [
    {
      role: 'assistant',
      ...(content !== '' && { content }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

/** Blocks and members of a message that have no effect: thoughts, and that a tool failed. */
export const unusedIn = ({ content }: Message, place: string): readonly string[] =>
  typeof content === 'string'
    ? []
    : content.flatMap((block, at) => {
        if (block.type === 'tool_result') {
          return block.is_error ? [`${place}.content[${at}].is_error`] : []
        }
        return block.type === 'thinking' || block.type === 'redacted_thinking'
          ? [`${place}.content[${at}]`]
          : []
      })

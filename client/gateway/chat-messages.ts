import { z } from 'zod'

const Text = z.string().max(262_144)

const Part = z.object({ type: z.literal('text'), text: Text })

/** What a message says, of parts that are text. */
const Content = z.union([Text, z.array(Part).min(1).max(256)])

const Name = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/)
  .optional()

/** One message of a conversation; what is no text is refused. */
export const ChatMessage = z.strictObject({
  role: z.enum(['system', 'developer', 'user', 'assistant']),
  content: Content,
  name: Name,
  // What the official clients repeat of an earlier answer, as long as it holds nothing.
  refusal: z.null().optional(),
  annotations: z.array(z.unknown()).max(0).optional(),
  tool_calls: z.array(z.unknown()).max(0).nullable().optional(),
  function_call: z.null().optional(),
  audio: z.null().optional(),
})
export type ChatMessage = z.output<typeof ChatMessage>

/** The line above each message of a conversation. */
const headingOf = ({ role, name }: Pick<ChatMessage, 'role' | 'name'>): string =>
  `[${role === 'developer' ? 'system' : role}${name === undefined ? '' : ` ${name}`}]`

/** Lines that could be taken for one of our headings, whatever they are indented by; lines end where JavaScript ends them. */
const likeHeading =
  /^[^\S\n\r\u2028\u2029]*\[(?:system|developer|user|assistant)(?: [A-Za-z0-9_-]+)?\][^\S\n\r\u2028\u2029]*$/gim

const opening = 'Below is a conversation. Write the next message of [assistant], and nothing else.'

/**
 * The one prompt that a job takes, made of a conversation: the same messages give the same prompt. A single message of the user is the
 * prompt as it is. Else each message stands under its role; a line of a message that looks like such a heading is quoted with `> `.
 */
export function promptOfMessages(messages: readonly ChatMessage[]): string {
  const [first, ...others] = messages
  if (first?.role === 'user' && first.name === undefined && others.length === 0) {
    return textOf(first)
  }
  const turns = messages.map((message) => `${headingOf(message)}\n${quoted(textOf(message))}`)
  return [opening, ...turns, headingOf({ role: 'assistant' })].join('\n\n')
}

const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : content.map(({ text }) => text).join('\n')

const quoted = (text: string): string => text.replace(likeHeading, '> $&')

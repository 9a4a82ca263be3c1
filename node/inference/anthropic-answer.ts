import { z } from 'zod'
import { TokenCount, Usage } from '../../lib/schemas/answer.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { Completed } from './provider.ts'
import { notOfProtocol } from './provider-fetch.ts'
import type { Gathering } from './read-answer.ts'
import { checkReason, completedBy } from './sealed-text.ts'

// Only the fields in use. Other kinds of blocks have no text.
const Block = z.object({
  type: z.string(),
  text: z.string().optional(),
  name: z.string().optional(),
  input: z.unknown().optional(),
})

const Tokens = z
  .object({
    input_tokens: TokenCount.optional().catch(undefined),
    output_tokens: TokenCount.optional().catch(undefined),
  })
  .optional()
  .catch(undefined)

/** A whole message, or the part of one with which a stream begins. */
const Message = z.object({
  content: z.array(Block).optional(),
  stop_reason: z.string().nullish(),
  usage: Tokens,
})

/** A message, or an event of a stream. */
const Event = Message.extend({
  type: z.string().optional(),
  message: Message.optional(),
  index: z.int().optional(),
  content_block: Block.optional(),
  delta: z
    .object({
      text: z.string().optional(),
      partial_json: z.string().optional(),
      stop_reason: z.string().nullish(),
    })
    .optional(),
})

/** The answer reached the limit that was asked for, or the longest context of the model. */
const cutReasons = ['max_tokens', 'model_context_window_exceeded']

const blockSize = 1_000

/** Gathers what Anthropic's messages say. */
export function gatherAnthropic(): Gathering {
  const blocks = new Map<number, z.output<typeof Block> & { json?: string }>()
  let [reason, isAnswer, isOver, hasText, size] = ['', false, false, false, 0]
  let counted: z.output<typeof Tokens> = {}

  const addMessage = ({ content, stop_reason, usage }: z.output<typeof Message>) => {
    isAnswer ||= content !== undefined
    for (const block of content ?? []) blocks.set(blocks.size, block)
    reason = stop_reason ?? reason
    counted = { ...counted, ...usage }
  }

  const add = (event: unknown) => {
    const parsed = Event.safeParse(event)
    if (!parsed.success) throw notOfProtocol(event)
    const { type, message, content_block: begun, delta } = parsed.data
    addMessage(parsed.data)
    if (message) addMessage({ content: [], ...message })
    // Some servers leave out the index.
    const index = parsed.data.index ?? blocks.size - (begun ? 0 : 1)
    if (begun) blocks.set(index, begun)
    // A block has a size without a text, too.
    size +=
      (begun ? blockSize : 0) + (delta?.text?.length ?? 0) + (delta?.partial_json?.length ?? 0)
    hasText ||= Boolean(begun?.text || delta?.text || delta?.partial_json)
    if (type === 'message_stop') isOver = true
    reason = delta?.stop_reason ?? reason
    const block = blocks.get(index)
    if (delta?.text !== undefined && block) block.text = (block.text ?? '') + delta.text
    if (delta?.partial_json !== undefined && block) {
      block.json = (block.json ?? '') + delta.partial_json
    }
  }

  const usage = () => Usage.safeParse(counted).data

  const end = (prompt: PromptDocument): Completed => {
    if (!isAnswer) throw notOfProtocol(undefined)
    checkReason(reason)
    const said = [...blocks.values()]
    const answer = {
      content: said.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
      toolCalls: said
        .filter(({ type }) => type === 'tool_use')
        .map(({ name = '', input = {}, json }) => ({
          name,
          arguments: json || JSON.stringify(input),
        })),
      isCut: cutReasons.includes(reason),
    }
    return completedBy(prompt, answer, usage())
  }

  return {
    ...{ add, usage, end, size: () => size },
    hasBegun: () => hasText,
    hasEnded: () => isOver || reason !== '',
  }
}

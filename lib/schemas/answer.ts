import { z } from 'zod'
import { named } from './named.ts'

/*
 * The document that a node seals when the prompt allows tool calls or asks for JSON. For any other prompt the answer is the text alone.
 */

const Text = z.string().max(1_048_576)

/** The name of a called tool, which a model may have made up. */
export const ToolName = z.string().regex(/^[\x20-\x7e]{1,128}$/)

/** A tool call. It has no id, because each node's model makes another one. */
const CalledTool = z.strictObject({
  name: ToolName,
  /** Canonical JSON when the model wrote a JSON object, `{}` when it wrote nothing, else what it wrote. */
  arguments: Text,
})

/** How a model ended an answer: by itself, cut off at its longest length, or with calls of tools. */
export const Ended = z.enum(['stop', 'length', 'tool_calls'])
export type Ended = z.output<typeof Ended>

/** A number of tokens, as a provider tells it. */
export const TokenCount = z.int().min(0).max(1_000_000_000)

/** The tokens of one inference, as the provider counted them. */
export const Usage = named('Usage', { input_tokens: TokenCount, output_tokens: TokenCount })
export type Usage = z.output<typeof Usage>

/** A structured answer: a text or JSON, or tool calls without a text. */
export const AnswerDocument = z.union([
  z.strictObject({
    version: z.literal(1),
    content: Text.min(1),
    /** `length` when the answer was cut off. */
    finish_reason: z.enum(['stop', 'length']),
  }),
  z.strictObject({
    version: z.literal(1),
    tool_calls: z.array(CalledTool).min(1).max(128),
    finish_reason: z.enum(['tool_calls', 'length']),
  }),
])
export type AnswerDocument = z.output<typeof AnswerDocument>

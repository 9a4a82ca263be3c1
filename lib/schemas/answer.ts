import { z } from 'zod'

/*
 * The document that a node seals when the prompt allows tool calls or asks for JSON. For any other prompt the answer is the text alone.
 */

const Text = z.string().max(1_048_576)

/** A tool call. It has no id, because each node's model makes another one. */
const CalledTool = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  /** Canonical JSON when the model wrote a JSON object, else what it wrote. */
  arguments: Text,
})

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

import { z } from 'zod'

/*
 * What a node seals where the prompt has tools that may be called, or asks for JSON. To any other prompt the answer is the text alone.
 */

const Text = z.string().max(1_048_576)

/** A call of a tool. Its id is not the model's: each node would have another. */
const CalledTool = z.strictObject({
  name: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/),
  /** Canonical JSON where the model wrote an object of JSON, else what it wrote. */
  arguments: Text,
})

/** A structured answer: a text or JSON, or calls of tools without a text. */
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

import { z } from 'zod'
import { ModelId } from '../codecs.ts'

/** Prompts to this length, in bytes as they are sealed, every model takes: only longer ones are a need. */
export const basePromptBytes = 8_192

/** Answers to this length every model gives. */
export const baseOutputTokens = 1_024

const maxPromptBytes = 1_048_576

/**
 * What a prompt document may hold besides a conversation, which not every model takes; `tools` is also their calls and results. `teacher` is in no
 * prompt: the job asks that checkers say how likely the delivered text is under their models (`teacher/1`).
 */
export const PromptPart = z
  .enum(['json_object', 'json_schema', 'late_system', 'names', 'seed', 'stop', 'teacher', 'tools'])
  .meta({ id: 'PromptPart' })
export type PromptPart = z.output<typeof PromptPart>

/**
 * What a prompt asks of a model beyond a short conversation. The ICL and the seated nodes read it: nothing is said of what any model takes, and
 * sizes are coarse.
 */
export const PromptNeeds = z
  .strictObject({
    /** In order. */
    parts: z.array(PromptPart).min(1).max(PromptPart.options.length).exactOptional(),
    /** A power of two that the sealed document does not exceed, when it is longer than 8,192 bytes. */
    prompt_bytes: z
      .int()
      .min(basePromptBytes + 1)
      .max(maxPromptBytes)
      .exactOptional(),
    /** The longest answer, when that is more than 1,024 tokens. */
    output_tokens: z
      .int()
      .min(baseOutputTokens + 1)
      .max(8_192)
      .exactOptional(),
  })
  .meta({ id: 'PromptNeeds' })
export type PromptNeeds = z.output<typeof PromptNeeds>

/** The most that a model takes; only what the network allows limits it when left out. */
export const TakenSizes = {
  max_prompt_bytes: z.int().min(basePromptBytes).max(maxPromptBytes).exactOptional(),
  max_output_tokens: z.int().min(baseOutputTokens).max(1_000_000).exactOptional(),
}

/** What a node says that it takes for one of its models. */
export const ModelTakes = z
  .object({
    model_id: ModelId,
    /** Names that the ICL does not know are passed over. */
    parts: z.array(z.string().max(32)).max(16),
    ...TakenSizes,
  })
  .meta({ id: 'ModelTakes' })
export type ModelTakes = z.output<typeof ModelTakes>

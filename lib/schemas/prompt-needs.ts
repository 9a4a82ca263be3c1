import { z } from 'zod'
import { ModelId } from '../codecs.ts'
import { named } from './named.ts'

/** Every model takes prompts up to this length, in bytes before sealing. Only longer ones are a need. */
export const basePromptBytes = 8_192

/** Every model gives answers up to this length, in tokens. */
export const baseOutputTokens = 1_024

const maxPromptBytes = 1_048_576

/** Parts of a prompt that not every model takes. `tools` includes calls and results. `teacher` is in no prompt: the job asks for `teacher/1`. */
export const PromptPart = z
  .enum([
    'json_object',
    'json_schema',
    'late_system',
    'names',
    'parallel_tool_calls',
    'reasoning_effort',
    'seed',
    'stop',
    'teacher',
    'tools',
  ])
  .meta({ id: 'PromptPart' })
export type PromptPart = z.output<typeof PromptPart>

/** What a prompt needs of a model beyond a short conversation, in coarse sizes: the ICL and the seated nodes read it. */
export const PromptNeeds = z
  .strictObject({
    /** In the order of PromptPart. */
    parts: z.array(PromptPart).min(1).max(PromptPart.options.length).exactOptional(),
    /** A power of two that is at least the document's length, when that is over 8,192 bytes. */
    prompt_bytes: z
      .int()
      .min(basePromptBytes + 1)
      .max(maxPromptBytes)
      .exactOptional(),
    /** The longest answer, when it is over 1,024 tokens. */
    output_tokens: z
      .int()
      .min(baseOutputTokens + 1)
      .max(8_192)
      .exactOptional(),
  })
  .meta({ id: 'PromptNeeds' })
export type PromptNeeds = z.output<typeof PromptNeeds>

/** The most that a model takes; when left out, only the network's limits apply. */
export const TakenSizes = {
  max_prompt_bytes: z.int().min(basePromptBytes).max(maxPromptBytes).exactOptional(),
  max_output_tokens: z.int().min(baseOutputTokens).max(1_000_000).exactOptional(),
}

/** What a node takes for one of its models, by its own word. */
export const ModelTakes = named('ModelTakes', {
  model_id: ModelId,
  /** The ICL ignores names that it does not know. */
  parts: z.array(z.string().max(32)).max(16),
  ...TakenSizes,
})
export type ModelTakes = z.output<typeof ModelTakes>

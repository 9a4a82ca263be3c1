/*
 * Problem: models differ in which parts of a prompt document they take. A node that finds out from the prompt gives the job back, and the
 * client has already paid for the key. But only the seated nodes may read the prompt.
 *
 * Idea: each node says what it takes for each of its models, and the pool publishes it. The client states its prompt's needs in its terms,
 * so that only nodes that meet them are drawn. When these are too few, it pays nothing.
 *
 * Invariants:
 * - The needs disclose only a few flags and two coarse sizes. A short conversation discloses nothing.
 * - The chain shows none of it, because it has only a salted hash of the terms.
 *
 * Failure cases: a node may claim more than its provider supports, and a provider may refuse some contents of a part that it takes (a
 * schema, a `stop` of white space). Then the job ends with `prompt-not-supported`.
 */

import type { CheckId } from './codecs.ts'
import { utf8 } from './digest.ts'
import { writePrompt } from './prompt.ts'
import type { PromptDocument } from './schemas/prompt.ts'
import {
  baseOutputTokens,
  basePromptBytes,
  type ModelTakes,
  type PromptNeeds,
  PromptPart,
} from './schemas/prompt-needs.ts'

/** What a model takes beyond a short conversation. */
export type Takes = Omit<ModelTakes, 'model_id'>

/** Returns what a prompt needs with an answer of this length and this check; undefined when every model takes it. */
export function needsOf(
  prompt: PromptDocument,
  maxOutputTokens = 0,
  check?: CheckId,
): PromptNeeds | undefined {
  const parts = PromptPart.options.filter(
    (part) => isIn[part](prompt) || (part === 'teacher' && check === 'teacher/1'),
  )
  const { length } = utf8(writePrompt(prompt))
  const needs: PromptNeeds = {
    ...(parts.length > 0 && { parts }),
    ...(length > basePromptBytes && { prompt_bytes: 2 ** Math.ceil(Math.log2(length)) }),
    ...(maxOutputTokens > baseOutputTokens && { output_tokens: maxOutputTokens }),
  }
  return Object.keys(needs).length === 0 ? undefined : needs
}

const isIn: Readonly<Record<PromptPart, (prompt: PromptDocument) => boolean>> = {
  json_object: ({ response_format: format }) => format?.type === 'json_object',
  json_schema: ({ response_format: format }) => format?.type === 'json_schema',
  late_system: ({ messages }) => {
    const first = messages.findIndex(({ role }) => role !== 'system')
    return first < 0 || messages.slice(first).some(({ role }) => role === 'system')
  },
  names: ({ messages }) => messages.some((message) => 'name' in message),
  parallel_tool_calls: ({ parallel_tool_calls: parallel }) => parallel !== undefined,
  reasoning_effort: ({ reasoning_effort: effort }) => effort !== undefined,
  seed: ({ seed }) => seed !== undefined,
  stop: ({ stop }) => stop !== undefined,
  teacher: () => false,
  tools: ({ messages, tools }) =>
    tools !== undefined ||
    messages.some((message) => message.role === 'tool' || 'tool_calls' in message),
}

/** The check of the delivered text that the needs ask for; undefined for none. */
export const checkOf = (needs: PromptNeeds | undefined): CheckId | undefined =>
  needs?.parts?.includes('teacher') ? 'teacher/1' : undefined

/** Returns the needs that a model does not meet, each in a word or two; empty when it takes the prompt. */
export function unmetNeeds(
  takes: Takes | undefined,
  needs: PromptNeeds | undefined,
): readonly string[] {
  const { parts = [], prompt_bytes: bytes = 0, output_tokens: tokens = 0 } = needs ?? {}
  const { max_prompt_bytes: most = bytes, max_output_tokens: longest = tokens } = takes ?? {}
  return [
    ...parts.filter((part) => takes?.parts.includes(part) !== true),
    ...(bytes > most ? [`a prompt of ${bytes} bytes`] : []),
    ...(tokens > longest ? [`an answer of ${tokens} tokens`] : []),
  ]
}

/** Returns what a model takes, from those of a node. */
export const takesOf = (
  takes: readonly ModelTakes[] | undefined,
  modelId: string,
): Takes | undefined => takes?.find(({ model_id }) => model_id === modelId)

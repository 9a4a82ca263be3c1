/*
 * Problem: models differ in what they take of a prompt document. A node that finds out from the prompt gives it back, and then the key
 * is paid for. But only the seated nodes may read the prompt.
 *
 * Idea: each node says what it takes for each of its models. That is published with the pool. The client names what its prompt needs in its
 * terms, so that only nodes that take it are drawn, and pays for nothing when there are too few of them.
 *
 * Invariants:
 * - What is disclosed is a few flags and two coarse sizes. A short conversation discloses nothing.
 * - The chain shows none of it: the terms are there as a salted hash.
 *
 * Failure cases: a node may say more than its provider keeps, and some contents are refused by a provider although it takes the part (a
 * schema, a `stop` of white space). Then the job ends as `prompt-not-supported`.
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

/** What a prompt with such an answer, and with such a check of it, needs; undefined when every model takes it. */
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
  seed: ({ seed }) => seed !== undefined,
  stop: ({ stop }) => stop !== undefined,
  teacher: () => false,
  tools: ({ messages, tools }) =>
    tools !== undefined ||
    messages.some((message) => message.role === 'tool' || 'tool_calls' in message),
}

/** What else checkers are to say of the delivered text; undefined when nothing. */
export const checkOf = (needs: PromptNeeds | undefined): CheckId | undefined =>
  needs?.parts?.includes('teacher') ? 'teacher/1' : undefined

/** Which of the needs a model does not meet, each in a word or two; none when it takes the prompt. */
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

/** What is said of a model among those of a node. */
export const takesOf = (
  takes: readonly ModelTakes[] | undefined,
  modelId: string,
): Takes | undefined => takes?.find(({ model_id }) => model_id === modelId)

/*
 * Problem: an answer may be tool calls or JSON. Two models that mean the same differ in white space, in the order of members and in the ids
 * of calls.
 *
 * Idea: the node seals the answer in canonical form. Equal answers are then equal texts, and the client gives its caller exactly the bytes
 * that were compared.
 *
 * Invariants:
 * - Equal calls have one spelling. JSON with numbers that a double cannot hold stays as the model wrote it.
 * - Calls have no text beside them, and no ids, so nothing is delivered that was not compared.
 * - Calls keep their order, since a later one may depend on an earlier one.
 *
 * Failure cases: truncated or broken JSON stays as the model wrote it. A sealed answer of another form is `answer-unreadable`.
 */

import { canonicalJson } from './canonical-json.ts'
import { hasNameTwice, isContainer, isJson, withoutStrings } from './is-json.ts'
import { parseJson } from './parse-json.ts'
import { AnswerDocument, type Ended } from './schemas/answer.ts'
import type { PromptDocument } from './schemas/prompt.ts'
import { SvcError } from './svc-error.ts'

/** A model's reply. */
export type Said = {
  readonly content: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[]
  /** True when the answer reached its longest length and was cut off. */
  readonly isCut: boolean
}

/** Returns how a reply ended. */
export const endedBy = ({ toolCalls = [], isCut }: Said): Ended => {
  if (isCut) return 'length'
  return toolCalls.length > 0 ? 'tool_calls' : 'stop'
}

/** True when the answer to a prompt is an answer document: the prompt allows tool calls or asks for JSON. */
export const isStructured = (
  prompt: Pick<PromptDocument, 'tools' | 'tool_choice' | 'response_format'>,
): boolean => mayCallTools(prompt) || asksForJson(prompt)

/** True when the answer to a prompt may be tool calls. */
export const mayCallTools = ({
  tools,
  tool_choice: choice,
}: Pick<PromptDocument, 'tools' | 'tool_choice'>): boolean =>
  tools !== undefined && choice !== 'none'

const asksForJson = ({ response_format: format }: Pick<PromptDocument, 'response_format'>) =>
  format !== undefined && format.type !== 'text'

/** Returns the text that a node seals: the plain text, or an answer document in canonical JSON; empty when the model said nothing. */
export function writeAnswer(prompt: PromptDocument, said: Said): string {
  const { content, toolCalls = [], isCut } = said
  if (!isStructured(prompt)) return content
  if (toolCalls.length > 0) {
    return write({
      version: 1,
      finish_reason: isCut ? 'length' : 'tool_calls',
      tool_calls: toolCalls.map(({ name, arguments: written }) => ({
        name,
        // Parsers fail on an empty text.
        arguments: written.trim() === '' ? '{}' : inOneSpelling(written),
      })),
    })
  }
  if (content.trim() === '') return ''
  return write({
    version: 1,
    finish_reason: isCut ? 'length' : 'stop',
    content: asksForJson(prompt) ? inOneSpelling(content) : content,
  })
}

/** Reads a sealed answer document; undefined unless the text is one in canonical JSON. */
export function parseAnswer(text: string): AnswerDocument | undefined {
  const parsed = AnswerDocument.safeParse(parseJson(text))
  return parsed.success && write(parsed.data) === text ? parsed.data : undefined
}

/** Reads a sealed answer document; throws SvcError `answer-unreadable`. */
export function readAnswer(text: string): AnswerDocument {
  const answer = parseAnswer(text)
  if (answer) return answer
  throw new SvcError('answer-unreadable', 'The quorum agreed on an answer of another form', {
    hint: 'Run the job again. The prompt has tools or asks for JSON, and the answer is no answer document.',
  })
}

const write = (answer: AnswerDocument): string =>
  decoder.decode(canonicalJson(JSON.parse(JSON.stringify(answer, wellFormed))))

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

// A lone surrogate has no canonical form.
const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value

// Numbers with more digits than a double holds: two different ones would get the same spelling.
const longNumber = /[\d.]{16}|\d[eE]/

/** Returns a JSON object or list in canonical form, and any other text unchanged. */
function inOneSpelling(text: string): string {
  const value = parseJson(text)
  if (!isContainer(value) || longNumber.test(withoutStrings(text))) return text
  if (!isJson(value) || hasNameTwice(text, value)) return text
  return decoder.decode(canonicalJson(value))
}

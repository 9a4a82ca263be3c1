/*
 * Problem: an answer may be calls of tools or JSON. Two models that mean the same write it with other spaces, other orders of members and
 * other ids of calls.
 *
 * Idea: the node writes what it seals in one spelling. Equal answers are then equal texts, and what the client delivers to its caller is
 * what was compared, byte for byte.
 *
 * Invariants:
 * - A call without a change of meaning has one spelling. JSON whose numbers a double cannot hold stays as it was written.
 * - Calls have no text beside them, and no ids: nothing is delivered that was not compared.
 * - The order of calls stays: they may build on one another.
 *
 * Failure cases: JSON that is cut off or broken stays as it was written. A sealed answer of another form is `answer-unreadable`.
 */

import { canonicalJson } from './canonical-json.ts'
import { hasNameTwice, isContainer, isJson, withoutStrings } from './is-json.ts'
import { parseJson } from './parse-json.ts'
import { AnswerDocument } from './schemas/answer.ts'
import type { PromptDocument } from './schemas/prompt.ts'
import { SvcError } from './svc-error.ts'

/** What a model said. */
export type Said = {
  readonly content: string
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[]
  /** Whether the answer was cut off at its longest. */
  readonly isCut: boolean
}

/** Whether the answer to a prompt is an answer document: its tools may be called, or it asks for JSON. */
export const isStructured = (
  prompt: Pick<PromptDocument, 'tools' | 'tool_choice' | 'response_format'>,
): boolean => mayCallTools(prompt) || asksForJson(prompt)

/** Whether the answer to a prompt may be calls of tools. */
export const mayCallTools = ({
  tools,
  tool_choice: choice,
}: Pick<PromptDocument, 'tools' | 'tool_choice'>): boolean =>
  tools !== undefined && choice !== 'none'

const asksForJson = ({ response_format: format }: Pick<PromptDocument, 'response_format'>) =>
  format !== undefined && format.type !== 'text'

/** What a node seals of an answer: the text alone, or an answer document in canonical JSON; empty when nothing was said. */
export function writeAnswer(prompt: PromptDocument, said: Said): string {
  const { content, toolCalls = [], isCut } = said
  if (!isStructured(prompt)) return content
  if (toolCalls.length > 0) {
    return write({
      version: 1,
      finish_reason: isCut ? 'length' : 'tool_calls',
      tool_calls: toolCalls.map(({ name, arguments: written }) => ({
        name,
        arguments: inOneSpelling(written),
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

/** Reads a sealed answer document; undefined when it is none in canonical JSON. */
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

// Half a surrogate pair has no canonical form.
const wellFormed = (_: string, value: unknown): unknown =>
  typeof value === 'string' ? value.replace(/\p{Surrogate}/gu, '\ufffd') : value

// More digits than a double holds: two numbers would get one spelling.
const longNumber = /[\d.]{16}|\d[eE]/

/** An object or a list of JSON in canonical form; anything else as it is. */
function inOneSpelling(text: string): string {
  const value = parseJson(text)
  if (!isContainer(value) || longNumber.test(withoutStrings(text))) return text
  if (!isJson(value) || hasNameTwice(text, value)) return text
  return decoder.decode(canonicalJson(value))
}

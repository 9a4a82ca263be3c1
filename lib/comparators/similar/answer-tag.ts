import { canonicalAnswerJson, parseAnswerJson } from './answer-json.ts'
import { lastBoxed } from './latex.ts'
import { plainTextOf } from './plain-text.ts'
import { shortTokens } from './thresholds.ts'
import { type Token, tokensOf } from './tokens.ts'

/** A final answer in canonical form: an option's letter, a value, or both; empty when a text has none that is recognised. */
export type FinalAnswer = { readonly letter?: string; readonly value?: string }

// Longer answers are texts and are cut here.
const maxAnswerCharacters = 1_000

const fenced = /^```(?:json)?[ \t]*\n([\s\S]*?)\n```$/i
const announced =
  /\b(?:answer|correct (?:choice|option|statement)|best (?:choice|option))(?:\s+is(?:\s*:)?|\s*[:=])\s*([^\n]{1,160})/gi
const option = /^[\s(*'"]*([A-J])(?:\s*[).:]|(?=\s*$)|(?=\s+[(=]))[)\s*'":.]*/
const phrases: ReadonlySet<string> = new Set(
  'a an the is it its answer final correct option choice'.split(' '),
)

/** Finds a text's final answer: its JSON document, its last box, what it announces as its answer, or all of a short text. */
export function finalAnswerOf(
  text: string,
  plainText: string,
  tokens: readonly Token[],
): FinalAnswer {
  const trimmed = text.trim()
  const json = parseAnswerJson(fenced.exec(trimmed)?.[1]?.trim() ?? trimmed)
  if (json) {
    const parts: readonly unknown[] = json.value instanceof Object ? Object.values(json.value) : []
    const [only] = parts
    if (parts.length === 1 && typeof only === 'string') return answerIn(plainTextOf(cut(only)))
    return { value: `json:${canonicalAnswerJson(json.value)}` }
  }
  const boxed = lastBoxed(text)
  if (boxed !== undefined) return answerIn(plainTextOf(cut(boxed)))
  let last: string | undefined
  for (const [, words] of plainText.matchAll(announced)) last = words
  if (last !== undefined) return answerIn(last)
  const isShort = tokens.length > 0 && tokens.length <= shortTokens
  return isShort ? answerIn(cut(plainText).replace(/\s+/g, ' ')) : {}
}

const cut = (text: string): string => text.slice(0, maxAnswerCharacters)

function answerIn(plainText: string): FinalAnswer {
  const trimmed = plainText.trim()
  const chosen = option.exec(trimmed)
  const letter = chosen?.[1]?.toLowerCase()
  const rest = chosen ? trimmed.slice(chosen[0].length) : trimmed
  const value = tokensOf(rest.split(/[.;]\s|[.;]$|\n/, 1)[0] ?? '')
    .filter(({ text }) => !phrases.has(text))
    .slice(0, shortTokens)
    .map(({ text }) => text)
    .join(' ')
  return { ...(letter !== undefined && { letter }), ...(value !== '' && { value }) }
}

import { type FinalAnswer, finalAnswerOf } from './answer-tag.ts'
import { negators, stemOf, stopwords } from './english.ts'
import { plainTextOf } from './plain-text.ts'
import { type Token, tokensOf } from './tokens.ts'

// More than any model writes in one answer. Text beyond it still counts for equality.
const maxSketchedTokens = 32_768

/** The features of a text that are compared. */
export type Features = {
  readonly tokenCount: number
  /** All tokens in one line, equal for texts that differ only in formatting. */
  readonly joined: string
  /** Wording: three tokens in a row, with marks for the ends of the text. */
  readonly trigrams: ReadonlySet<string>
  /** Topic: stems of all words but stop words. */
  readonly words: ReadonlySet<string>
  readonly numbers: ReadonlySet<string>
  /** Names and identifiers that the text nowhere writes as a common word. */
  readonly names: ReadonlySet<string>
  /** One element for each negator. */
  readonly negators: ReadonlySet<string>
  readonly links: ReadonlySet<string>
  readonly answer: FinalAnswer
}

/** Extracts the features of a text. */
export function featuresOf(text: string): Features {
  const plainText = plainTextOf(text)
  const all = tokensOf(plainText)
  const tokens = all.slice(0, maxSketchedTokens)
  const common = textsWhere(tokens, ({ isPlain }) => isPlain)
  const content = tokens.filter((token) => token.kind === 'word' && !stopwords.has(token.text))
  const negations = tokens.filter((token) => token.kind === 'word' && negators.has(token.text))
  return {
    tokenCount: all.length,
    joined: all.map((token) => token.text).join(' '),
    trigrams: trigramsOf(tokens),
    words: new Set(content.map((token) => stemOf(token.text))),
    numbers: textsWhere(tokens, ({ kind }) => kind === 'number'),
    names: textsWhere(tokens, (token) => token.isName && !common.has(token.text)),
    negators: new Set(negations.map((_, index) => String(index))),
    links: textsWhere(tokens, ({ kind }) => kind === 'link'),
    answer: finalAnswerOf(text, plainText, all),
  }
}

/** The trigrams of a prompt, which give an answer no credit. */
export const promptTrigramsOf = (prompt: string): ReadonlySet<string> =>
  trigramsOf(tokensOf(plainTextOf(prompt)).slice(0, maxSketchedTokens))

const textsWhere = (
  tokens: readonly Token[],
  holds: (token: Token) => boolean,
): ReadonlySet<string> => new Set(tokens.filter(holds).map(({ text }) => text))

function trigramsOf(tokens: readonly Token[]): ReadonlySet<string> {
  const texts = ['^', '^', ...tokens.map(({ text }) => text), '$']
  const trigrams = new Set<string>()
  for (let index = 2; index < texts.length; index++) {
    trigrams.add(`${texts[index - 2]} ${texts[index - 1]} ${texts[index]}`)
  }
  return trigrams
}

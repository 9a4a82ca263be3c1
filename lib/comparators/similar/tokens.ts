import { wordsOf } from './english.ts'
import { canonicalNumber, numberOfWord, numberPattern } from './numbers.ts'

/** A token of a text in canonical form. */
export type Token = {
  readonly text: string
  readonly kind: 'word' | 'number' | 'link' | 'operator'
  /** A name, an acronym or an identifier, by its spelling at this place. */
  readonly isName: boolean
  /** Written as a common word, so that it is no name elsewhere in this text either. */
  readonly isPlain: boolean
}

// Scripts without spaces, in which each character is a word.
const unspaced =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}'
const letter = `(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}_])`

// Control, direction and tag characters: they change what is read although nobody sees them.
const unseen =
  '\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069\\u{e0000}-\\u{e007f}'

// The counts limit rescanning of hostile texts, such as a million full stops.
const pieces = new RegExp(
  [
    `(?<link>(?:[Hh][Tt]{2}[Pp][Ss]?:\\/\\/|[Ww]{3}\\.)[^\\s)>\\]'"]+|[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63}){1,8})`,
    `(?<character>[${unspaced}])`,
    `(?<number>${numberPattern})`,
    `(?<word>${letter}+(?:['.](?=${letter})${letter}+)*)`,
    // Before a letter these are a sign or a negation, elsewhere punctuation.
    '(?<sign>(?<![\\p{L}\\p{N}_)\\]!?.-])[-!](?=[\\p{L}(]))',
    '(?<operator>[<>=!+*/^%&|~-]+)',
    `(?<symbol>[\\p{Sm}\\p{Sc}\\p{So}\\p{Co}${unseen}])`,
    '(?<stop>[.!?:;\\n])',
  ].join('|'),
  'gu',
)

/** Returns the tokens of a text without mark-up, in order. Independent of the locale, and so the same on every engine. */
export function tokensOf(plainText: string): readonly Token[] {
  const tokens: Token[] = []
  let startsSentence = true
  for (const { groups = {} } of plainText.matchAll(pieces)) {
    if (groups.stop !== undefined) {
      startsSentence = true
      continue
    }
    const { operator } = groups
    if (operator !== undefined) {
      // Dashes and exclamation marks are punctuation.
      if (/[^-!]/.test(operator)) tokens.push(plain(operator, 'operator'))
      continue
    }
    for (const token of contentOf(groups, startsSentence)) tokens.push(token)
    startsSentence = false
  }
  return tokens
}

type Piece = Readonly<Record<string, string | undefined>>

const plain = (text: string, kind: Token['kind']): Token => ({
  text,
  kind,
  isName: false,
  isPlain: false,
})

function contentOf(
  { link, number, character, sign, symbol, word = '' }: Piece,
  startsSentence: boolean,
): readonly Token[] {
  if (link !== undefined) return [plain(canonicalLink(link), 'link')]
  if (number !== undefined) return [plain(canonicalNumber(number) ?? number, 'number')]
  const mark = sign ?? symbol
  if (mark !== undefined) return [plain(mark, 'operator')]
  if (character !== undefined) return [plain(character, 'word')]
  const lower = word.toLowerCase()
  const isIdentifier = /[_.\d]/.test(word) || /\p{Ll}\p{Lu}/u.test(word)
  const isCapital = /^[\p{Lu}\p{Lt}]/u.test(word)
  const isName = isIdentifier || (isCapital && isNameLike(word, lower, startsSentence))
  return wordsOf(lower).map((part) => {
    const digits = numberOfWord(part)
    if (digits !== undefined) return plain(digits, 'number')
    return { text: part, kind: 'word', isName, isPlain: !isCapital && !isIdentifier }
  })
}

/** A word in capitals is an acronym if short, and emphasis if long. */
function isNameLike(word: string, lower: string, startsSentence: boolean): boolean {
  if (/^\p{Lu}{2,5}$/u.test(word)) return true
  return !startsSentence && word !== word.toUpperCase() && !/^i(?:$|')/.test(lower)
}

const canonicalLink = (link: string): string =>
  link
    .toLowerCase()
    .slice(0, 2_048)
    .replace(/[.,;:!?'")\]*_]{1,64}$/, '')
    .replace(/\/$/, '')

// "One" is left out, as it is mostly a pronoun.
const fromTwo =
  'two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'

const numberWords: ReadonlyMap<string, string> = new Map([
  ['zero', '0'],
  ...fromTwo.split(' ').map((word, index) => [word, String(2 + index)] as const),
  ...tens.split(' ').map((word, index) => [word, String(20 + 10 * index)] as const),
  ['hundred', '100'],
  ['thousand', '1000'],
  ['million', '1000000'],
  ['billion', '1000000000'],
])

/** Returns the digits of a number word; undefined for other words. */
export const numberOfWord = (word: string): string | undefined => numberWords.get(word)

/** Matches a number in a text. */
export const numberPattern =
  '(?<![\\p{L}\\p{N}_.])[-+]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?(?:[eE][-+]?\\d+)?(?![\\p{L}\\p{N}_])%?'

const parts = /^([-+]?)([\d,]+)(?:\.(\d+))?(?:[eE]([-+]?)(\d+))?(%?)$/

/** Writes a number in canonical form: no grouping, no needless zeros, signs only where they count. Undefined for other text. */
export function canonicalNumber(text: string): string | undefined {
  const match = parts.exec(text)
  if (!match) return undefined
  const [, sign = '', whole = '', fraction = '', powerSign = '', power, percent = ''] = match
  const digits = whole.replaceAll(',', '').replace(/^0+(?=\d)/, '')
  const decimals = withoutEndZeros(fraction)
  const value = decimals === '' ? digits : `${digits}.${decimals}`
  const minus = sign === '-' && value !== '0' ? '-' : ''
  const exponent = power === undefined ? '' : `e${powerSign === '-' ? '-' : ''}${power}`
  return `${minus}${value}${exponent}${percent}`
}

/** Without a pattern, which would start again at every zero. */
function withoutEndZeros(digits: string): string {
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end--
  return digits.slice(0, end)
}

/** Number words. "One" is left out, as it is mostly a pronoun. */
const numberWords: ReadonlyMap<string, string> = new Map(
  Object.entries({
    zero: '0',
    two: '2',
    three: '3',
    four: '4',
    five: '5',
    six: '6',
    seven: '7',
    eight: '8',
    nine: '9',
    ten: '10',
    eleven: '11',
    twelve: '12',
    thirteen: '13',
    fourteen: '14',
    fifteen: '15',
    sixteen: '16',
    seventeen: '17',
    eighteen: '18',
    nineteen: '19',
    twenty: '20',
    thirty: '30',
    forty: '40',
    fifty: '50',
    sixty: '60',
    seventy: '70',
    eighty: '80',
    ninety: '90',
    hundred: '100',
    thousand: '1000',
    million: '1000000',
    billion: '1000000000',
  }),
)

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

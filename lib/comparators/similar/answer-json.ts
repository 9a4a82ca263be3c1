const maxDepth = 32
// Longer numbers are rounded when parsed, and two would become equal.
const maxNumberCharacters = 15

/** Parses a JSON object or list; undefined for other text, nesting on which engines differ, or a number that parsing would change. */
export function parseAnswerJson(text: string): { readonly value: unknown } | undefined {
  if (!/^[[{]/.test(text) || isBeyondReading(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return { value }
  } catch {
    return undefined
  }
}

/** A single pass. A pattern would scan a text with many quotes again from each of them. */
function isBeyondReading(text: string): boolean {
  let depth = 0
  let inString = false
  let numberCharacters = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? ''
    numberCharacters = !inString && /[\d.eE+-]/.test(character) ? numberCharacters + 1 : 0
    if (depth > maxDepth || numberCharacters > maxNumberCharacters) return true
    if (character === '"') inString = !inString
    else if (inString && character === '\\') index++
    else if (!inString && (character === '[' || character === '{')) depth++
    else if (!inString && (character === ']' || character === '}')) depth--
  }
  return depth > maxDepth
}

/** Writes JSON in canonical form: keys in order, texts without case and white space differences. */
export function canonicalAnswerJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalAnswerJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonicalAnswerJson(part)}`).join(',')}}`
  }
  // JSON.stringify would write a number beyond the range of doubles as null.
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.normalize('NFKC').trim().toLowerCase().replace(/\s+/g, ' '))
}

const maxDepth = 32
// Longer ones are rounded when they are read, and two would count as one.
const maxNumberCharacters = 15

/** A JSON document read whole; undefined for text that is none, is nested so deep that engines differ, or has a number that reading would change. */
export function parseAnswerJson(text: string): { readonly value: unknown } | undefined {
  if (!/^[[{]/.test(text) || isBeyondReading(text)) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return { value }
  } catch {
    return undefined
  }
}

/** A walk, because a pattern would read a text with many quotes again from each of them. */
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

/** JSON in its one spelling: keys in order, texts without regard to case and white space. */
export function canonicalAnswerJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalAnswerJson).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonicalAnswerJson(part)}`).join(',')}}`
  }
  // JSON has one spelling for a number beyond its range and for nothing.
  if (typeof value !== 'string') return String(value)
  return JSON.stringify(value.normalize('NFKC').trim().toLowerCase().replace(/\s+/g, ' '))
}

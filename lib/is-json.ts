/** The deepest nesting of a value that can be read, checked and written without a stack overflow. */
export const maxDepth = 64

/** True for a JSON value without lone surrogates, nested at most `maxDepth` deep. */
export function isJson(value: unknown, depth = 0): boolean {
  if (value === null || typeof value === 'boolean') return true
  if (typeof value === 'number') return Number.isFinite(value)
  if (typeof value === 'string') return !/\p{Surrogate}/u.test(value)
  if (typeof value !== 'object' || depth === maxDepth) return false
  if (Array.isArray(value)) return value.every((one) => isJson(one, depth + 1))
  return (
    isPlain(value) &&
    Object.entries(value).every(([key, one]) => isJson(key) && isJson(one, depth + 1))
  )
}

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** True for an object or a list. */
export const isContainer = (value: unknown): value is object =>
  typeof value === 'object' && value !== null

/** True when a parsed value is nested deeper than `maxDepth`. */
export function isTooDeep(value: unknown, depth = 0): boolean {
  if (!isContainer(value)) return false
  if (depth === maxDepth) return true
  for (const one of valuesIn(value)) if (isContainer(one) && isTooDeep(one, depth + 1)) return true
  return false
}

/** Returns a JSON text with all strings emptied. */
export const withoutStrings = (text: string): string => text.replace(stringsOfJson, '""')

const stringsOfJson = /"[^"\\]*(?:\\.[^"\\]*)*"/gs

/** True when an object in a JSON text has a name twice: readers take either. `value` is the parsed text, and not too deep. */
export const hasNameTwice = (text: string, value: unknown): boolean =>
  membersOf(value) !== namesIn(text)

function membersOf(value: unknown): number {
  if (!isContainer(value)) return 0
  const inside = valuesIn(value)
  let count = Array.isArray(value) ? 0 : inside.length
  for (const one of inside) if (isContainer(one)) count += membersOf(one)
  return count
}

const valuesIn = (value: object): readonly unknown[] =>
  Array.isArray(value) ? value : Object.values(value)

/** Counts the strings of a JSON text that a colon follows. */
function namesIn(text: string): number {
  let count = 0
  for (let at = text.indexOf('"'); at >= 0; at = text.indexOf('"', at)) {
    at = text.indexOf('"', at + 1)
    while (isEscaped(text, at)) at = text.indexOf('"', at + 1)
    do at++
    while (text.charCodeAt(at) <= space)
    if (text.charAt(at) === ':') count++
  }
  return count
}

/** No character of JSON below it stands outside of a string, but for the blanks. */
const space = 0x20

/** True when an odd number of backslashes stands before a place in a text. */
function isEscaped(text: string, at: number): boolean {
  let first = at
  while (text.charAt(first - 1) === '\\') first--
  return (at - first) % 2 === 1
}

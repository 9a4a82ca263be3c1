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
export const isTooDeep = (value: unknown, depth = 0): boolean =>
  isContainer(value) &&
  (depth === maxDepth || Object.values(value).some((one) => isTooDeep(one, depth + 1)))

/** Returns a JSON text with all strings emptied. */
export const withoutStrings = (text: string): string => text.replace(stringsOfJson, '""')

const stringsOfJson = /"[^"\\]*(?:\\.[^"\\]*)*"/gs

/** True when an object in a JSON text has a name twice: readers take either. `value` is the parsed text, and not too deep. */
export const hasNameTwice = (text: string, value: unknown): boolean =>
  countMembers(value) !== withoutStrings(text).split(':').length - 1

const countMembers = (value: unknown): number => {
  if (!isContainer(value)) return 0
  const inside = Object.values(value)
  const own = Array.isArray(value) ? 0 : inside.length
  return inside.reduce<number>((sum, one) => sum + countMembers(one), own)
}

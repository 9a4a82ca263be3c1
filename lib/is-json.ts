const maxDepth = 64

/** True for a value that is JSON, holds no half of a surrogate pair, and is nested at most 64 deep: what can be read, checked and written again without end of the stack. */
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

/** A change of a JSON value: sets what the pointer (RFC 6901) names, or removes it where there is no value. */
export type Change = readonly [pointer: string, value?: unknown]

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What makes one JSON value of another. Lists of different lengths are replaced. */
export function differencesOf(from: unknown, to: unknown, pointer = ''): readonly Change[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return []
  const isList = Array.isArray(from) && Array.isArray(to) && from.length === to.length
  if (isList) {
    return from.flatMap((one, at) => differencesOf(one, to[at], `${pointer}/${at}`))
  }
  if (!isObject(from) || !isObject(to)) return [[pointer, to]]
  const names = new Set([...Object.keys(from), ...Object.keys(to)])
  return [...names].flatMap((name) => {
    const inside = `${pointer}/${name}`
    if (to[name] === undefined) return from[name] === undefined ? [] : [[inside]]
    return differencesOf(from[name], to[name], inside)
  })
}

/** The JSON value after changes. */
export function changed(value: unknown, changes: readonly Change[]): unknown {
  const result: unknown = structuredClone(value)
  for (const [pointer, ...rest] of changes) {
    const names = pointer.split('/').slice(1)
    const last = names.pop() ?? ''
    const parent = names.reduce((at, name) => (at as Record<string, unknown>)[name], result)
    const place = parent as Record<string, unknown>
    if (rest.length === 0) delete place[last]
    else place[last] = rest[0]
  }
  return result
}

/** Elements by a key of theirs; keys and elements in the order in which they come. */
export function groupBy<T>(
  elements: readonly T[],
  keyOf: (element: T) => string,
): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const element of elements) {
    const key = keyOf(element)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [element])
    else group.push(element)
  }
  return groups
}

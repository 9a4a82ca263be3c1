/** The edit distance of two words: letters to add, remove or replace. */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (const [row, letter] of [...from].entries()) {
    const current = [row + 1]
    for (const [column, other] of [...to].entries()) {
      const replaced = (above[column] ?? 0) + (letter === other ? 0 : 1)
      const removed = (above[column + 1] ?? 0) + 1
      const added = (current[column] ?? 0) + 1
      current.push(Math.min(replaced, removed, added))
    }
    above = current
  }
  return above[to.length] ?? 0
}

/** The name of which `typed` is a misspelling: two letters apart at most (one of a short name), whatever the case and the separators. */
export function misspeltName(typed: string, names: readonly string[]): string | undefined {
  const bare = (name: string) => name.toLowerCase().replaceAll(/[-_]/g, '')
  const one = bare(typed)
  return names.find((name) => {
    const other = bare(name)
    const limit = Math.min(2, Math.floor(other.length / 3))
    // The first condition keeps a long name cheap.
    return Math.abs(one.length - other.length) <= limit && distance(one, other) <= limit
  })
}

/** The name that was probably meant; undefined when none is near. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(typed.length / 3))
  const ranked = names
    .map((name) => ({ name, far: name.startsWith(typed) ? 0 : distance(typed, name) }))
    .filter(({ far }) => far <= limit)
    .toSorted((a, b) => a.far - b.far)
  return ranked[0]?.name
}

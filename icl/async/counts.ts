/** Counts of things by key. */
export type Counts<Key> = ReturnType<typeof createCounts<Key>>

/** Creates counts that are all 0. */
export function createCounts<Key>() {
  const counts = new Map<Key, number>()
  return {
    of: (key: Key): number => counts.get(key) ?? 0,
    add: (key: Key, change: number): void => {
      const count = (counts.get(key) ?? 0) + change
      if (count === 0) counts.delete(key)
      else counts.set(key, count)
    },
    /** Every count that is not 0. */
    entries: (): Iterable<readonly [Key, number]> => counts.entries(),
  }
}

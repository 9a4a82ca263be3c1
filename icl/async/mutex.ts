/** Runs pieces of work that have a key in common one after the other, and others side by side. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Makes empty queues, one for each key; a piece that fails does not hold up the next. */
export function createKeyedMutex(): KeyedMutex {
  const last = new Map<string, Promise<unknown>>()
  return async (key, work) => {
    const before = last.get(key)
    const mine = (before ?? Promise.resolve()).then(work)
    const ended = mine
      .catch(() => {})
      .then(() => {
        if (last.get(key) === ended) last.delete(key)
      })
    last.set(key, ended)
    return await mine
  }
}

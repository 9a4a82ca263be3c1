/** Runs pieces of work one after the other. */
export type Mutex = <T>(work: () => Promise<T>) => Promise<T>

/** Runs pieces of work that have a key in common one after the other, and others side by side. */
export type KeyedMutex = <T>(key: string, work: () => Promise<T>) => Promise<T>

/** Makes a queue; a piece that fails does not hold up the next. */
export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }
}

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

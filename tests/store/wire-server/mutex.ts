/** Runs pieces of work one after the other. */
export type Mutex = <T>(work: () => Promise<T>) => Promise<T>

/** Makes a queue; a piece that fails does not hold up the next. */
export function createMutex(): Mutex {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const mine = last.then(work, work)
    last = mine.catch(() => {})
    return mine
  }
}

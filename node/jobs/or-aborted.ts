/** Returns the result of `work`, or rejects once `signal` aborts, even when the work ignores the signal. */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const done = new AbortController()
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), {
      once: true,
      signal: done.signal,
    })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    done.abort()
  }
}

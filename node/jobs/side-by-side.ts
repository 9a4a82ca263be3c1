/** Runs two functions concurrently. When one fails, it aborts the other. */
export async function sideBySide<A, B>(
  signal: AbortSignal,
  first: (signal: AbortSignal) => Promise<A>,
  second: (signal: AbortSignal) => Promise<B>,
): Promise<[A, B]> {
  const ended = new AbortController()
  const shared = AbortSignal.any([signal, ended.signal])
  try {
    return await Promise.all([first(shared), second(shared)])
  } finally {
    ended.abort()
  }
}

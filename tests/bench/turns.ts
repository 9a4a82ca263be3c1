const processorMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

/** The longest turn of this thread's event loop while work is done, in processor time, so that other programs do not lengthen it. */
export async function longestTurn(work: () => Promise<unknown>): Promise<number> {
  let longest = 0
  const over = new AbortController()
  let last = processorMs()
  const look = () => {
    const now = processorMs()
    longest = Math.max(longest, now - last)
    last = now
    if (!over.signal.aborted) setImmediate(look)
  }
  setImmediate(look)
  await new Promise((resolve) => setImmediate(resolve))
  await work()
  await new Promise((resolve) => setImmediate(resolve))
  over.abort()
  return longest
}

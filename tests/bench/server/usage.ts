/** Processor time and memory of this process so far. */
export type Usage = { readonly cpuMicros: number; readonly residentBytes: number }

const usage = (): Usage => {
  const { user, system } = process.cpuUsage()
  return { cpuMicros: user + system, residentBytes: process.memoryUsage.rss() }
}

/** What every server of the benchmarks tells of itself. */
export const usageCommands = {
  usage,
  /** Gives back what is not in use first, where the runtime can be told to. */
  usageAfterCollection: async () => {
    for (let count = 0; count < 3; count++) {
      if ('Bun' in globalThis) Bun.gc(true)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return usage()
  },
}

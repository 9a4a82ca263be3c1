import { readFileSync } from 'node:fs'

/** Processor time, memory and writing of this process so far. */
export type Usage = {
  readonly cpuMicros: number
  readonly residentBytes: number
  /** What it had the disk written, as Linux counts it; NaN elsewhere. */
  readonly writtenBytes: number
}

function writtenBytes(): number {
  if (process.platform !== 'linux') return Number.NaN
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
}

const usage = (): Usage => {
  const { user, system } = process.cpuUsage()
  return {
    cpuMicros: user + system,
    residentBytes: process.memoryUsage.rss(),
    writtenBytes: writtenBytes(),
  }
}

/** What every server of the benchmarks tells of itself. */
export const usageCommands = {
  usage,
  /** Gives back what is not in use first, where the runtime can be told to. */
  usageAfterCollection: async () => {
    for (let count = 0; count < 3; count++) {
      if ('Bun' in globalThis) Bun.gc(true)
      else globalThis.gc?.()
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    return usage()
  },
}

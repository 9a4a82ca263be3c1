import { readdirSync, readFileSync } from 'node:fs'
import type { ProcessFigures } from '../prometheus.ts'
import { systemClock } from '../system.ts'
import { known } from './known.ts'

/** The figures of this process, in the same way for Bun, Node and Deno. */
export const figuresOf = ({ uptime, memoryUsage, cpuUsage }: NodeJS.Process): ProcessFigures => ({
  startedAt: Math.round(systemClock.now() / 1000 - uptime()),
  memoryBytes: () => memoryUsage().rss,
  processorSeconds: () => {
    const { user, system } = cpuUsage()
    return (user + system) / 1_000_000
  },
  // The folder is itself open while it is read.
  openFiles: () => known(() => readdirSync('/proc/self/fd').length - 1),
  openFilesLimit: () =>
    known(() => {
      const [, limit] =
        /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
      return limit === undefined ? undefined : Number(limit)
    }),
})

import type { Log } from '../log.ts'

/** How often the node checks its memory. */
export const memoryPeriodMs = 60_000

const warningBytes = 2 * 2 ** 30
const grownBytes = 8 * 2 ** 20

/**
 * Makes one pass of the loop. It warns when the process holds more than 2 GiB, once until it holds less again (spec 8). While no job runs
 * it drops what the start or jobs left behind, such as compiled code, if that may be 8 MiB.
 */
export function createMemoryWatch(options: {
  readonly residentBytes: () => number
  readonly shrinkMemory: () => void
  readonly isIdle: () => boolean
  readonly log: Log
}): () => Promise<void> {
  let isHigh = false
  // Held one pass after memory was dropped; undefined until that pass.
  let kept: number | undefined = 0
  return async () => {
    const bytes = options.residentBytes()
    if (bytes > warningBytes && !isHigh)
      options.log.warning(
        `Memory use is ${(bytes / 2 ** 30).toFixed(1)} GB, above the warning level of 2 GB`,
      )
    isHigh = bytes > warningBytes
    if (!options.isIdle()) return
    if (kept === undefined) kept = bytes
    else if (bytes > kept + grownBytes) {
      kept = undefined
      options.shrinkMemory()
    }
  }
}

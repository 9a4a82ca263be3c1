import type { Log } from '../log.ts'

/** How often the node checks its memory. */
export const memoryPeriodMs = 60_000

const warningBytes = 2 * 2 ** 30

/** Makes one pass of the loop: it warns when the process holds more than 2 GiB, once until it holds less again (spec 8). */
export function createMemoryWatch(options: {
  readonly residentBytes: () => number
  readonly log: Log
}): () => Promise<void> {
  let isHigh = false
  return async () => {
    const bytes = options.residentBytes()
    if (bytes > warningBytes && !isHigh)
      options.log.warning(
        `Memory use is ${(bytes / 2 ** 30).toFixed(1)} GB, above the warning level of 2 GB`,
      )
    isHigh = bytes > warningBytes
  }
}

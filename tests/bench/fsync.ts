import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { median } from './table.ts'

const tries = 200

/** Milliseconds that 4 KiB at the end of a file in this folder take to the disk, median: what latencies are counted in. */
export function measureFsync(folder: string): number {
  const file = openSync(join(folder, 'fsync'), 'a')
  const page = Buffer.alloc(4_096, 'x')
  try {
    return median(
      Array.from({ length: tries }, () => {
        const startedAt = performance.now()
        writeSync(file, page)
        fdatasyncSync(file)
        return performance.now() - startedAt
      }),
    )
  } finally {
    closeSync(file)
  }
}

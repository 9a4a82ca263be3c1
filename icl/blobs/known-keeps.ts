import { setNewest } from '../async/set-newest.ts'
import { coversKeep, type Keep, longerKeep } from '../store/store.ts'

const maxKnown = 10_000

/** Remembers how long the latest 10,000 blobs are kept, so that a blob of many jobs is written once. Times in milliseconds. */
export function createKnownKeeps(now: () => number) {
  const known = new Map<string, ReturnType<typeof longerKeep>>()
  return {
    /** True when the blob is known to be kept for so long. One that is not in use may have been dropped by another process. */
    has: (cid: string, keep: Keep): boolean => {
      const kept = known.get(cid)
      return kept !== undefined && kept.usedUntil > now() && coversKeep(kept, keep)
    },
    note: (cid: string, keep: Keep): void =>
      setNewest(known, cid, longerKeep(known.get(cid) ?? keep, keep), maxKnown),
    forget: (cid: string): void => {
      known.delete(cid)
    },
  }
}

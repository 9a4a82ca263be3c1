import { setNewest } from '../async/set-newest.ts'

const maxKept = 10_000

/** Remembers until when the latest 10,000 blobs are kept, so that a blob of many jobs is written once. Times in milliseconds. */
export function createKeptUntil(now: () => number) {
  const known = new Map<string, number>()
  return {
    /** True when the blob is known to be kept until then. */
    has: (cid: string, until: number): boolean => {
      const kept = known.get(cid)
      return kept !== undefined && kept >= until && kept > now()
    },
    note: (cid: string, until: number): void => setNewest(known, cid, until, maxKept),
    forget: (cid: string): void => {
      known.delete(cid)
    },
  }
}

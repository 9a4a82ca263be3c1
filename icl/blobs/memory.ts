import type { Clock } from '../../lib/clock.ts'
import type { Blobs } from './blobs.ts'

type Entry = { readonly bytes: Uint8Array<ArrayBuffer>; readonly until: number }

/** Blobs in memory, up to `maxBytes` in all, of which wallets can fill half; `list` shows every one. */
export function createMemoryBlobs(
  maxBytes: number,
  clock: Clock,
): Blobs & { list(): readonly (readonly [string, Uint8Array])[] } {
  const blobs = new Map<string, Entry>()
  let held = 0

  const dropExpired = () => {
    const now = clock.now()
    for (const [cid, { bytes, until }] of blobs) {
      if (until > now) continue
      blobs.delete(cid)
      held -= bytes.length
    }
  }

  return {
    put: async (cid, bytes, { uploader, until }) => {
      const room = uploader === 'node' ? maxBytes : maxBytes / 2
      if (!blobs.has(cid) && held + bytes.length > room) dropExpired()
      const known = blobs.get(cid)
      if (!known && held + bytes.length > room) return false
      if (!known) held += bytes.length
      blobs.set(cid, { bytes, until: Math.max(until, known?.until ?? 0) })
      return true
    },
    keep: async (cid, until) => {
      const known = blobs.get(cid)
      if (known && known.until < until) blobs.set(cid, { ...known, until })
    },
    get: async (cid) => blobs.get(cid)?.bytes,
    list: () => [...blobs].map(([cid, { bytes }]) => [cid, bytes]),
  }
}

import type { Clock } from '../../lib/clock.ts'
import type { Blobs } from './blobs.ts'

type Entry = {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly until: number
  readonly uploader: 'wallet' | 'node'
}

/** Blobs in memory, up to `maxBytes` in all, half for wallets and half for nodes; `list` shows every one. */
export function createMemoryBlobs(
  maxBytes: number,
  clock: Clock,
): Blobs & { list(): readonly (readonly [string, Uint8Array])[] } {
  const blobs = new Map<string, Entry>()
  const held = { wallet: 0, node: 0 }

  const dropExpired = () => {
    const now = clock.now()
    for (const [cid, { bytes, until, uploader }] of blobs) {
      if (until > now) continue
      blobs.delete(cid)
      held[uploader] -= bytes.length
    }
  }

  return {
    put: async (cid, bytes, { uploader, until }) => {
      const isFull = () => held[uploader] + bytes.length > maxBytes / 2
      if (!blobs.has(cid) && isFull()) dropExpired()
      const known = blobs.get(cid)
      if (!known && isFull()) return false
      if (!known) held[uploader] += bytes.length
      blobs.set(cid, { uploader, ...known, bytes, until: Math.max(until, known?.until ?? 0) })
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

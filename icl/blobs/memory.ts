import type { Blobs } from './blobs.ts'

/** Blobs in memory, up to `maxBytes` in all; `list` shows every one. */
export function createMemoryBlobs(
  maxBytes: number,
): Blobs & { list(): readonly (readonly [string, Uint8Array])[] } {
  const blobs = new Map<string, Uint8Array<ArrayBuffer>>()
  let held = 0
  return {
    put: async (cid, bytes) => {
      if (blobs.has(cid)) return true
      if (held + bytes.length > maxBytes) return false
      held += bytes.length
      blobs.set(cid, bytes)
      return true
    },
    get: async (cid) => blobs.get(cid),
    list: () => [...blobs],
  }
}

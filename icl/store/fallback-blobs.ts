import type { Uploader, Write } from './store.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Kept = { readonly bytes: Bytes; readonly uploader: Uploader }

/** Blobs that were seen, up to `maxBytes`, and all those that no database holds yet. */
export function createBlobCache(maxBytes: number) {
  /** In the order of their last use. */
  const seen = new Map<string, Bytes>()
  const pinned = new Map<string, Kept>()
  let seenBytes = 0

  const forget = (cid: string) => {
    seenBytes -= seen.get(cid)?.length ?? 0
    seen.delete(cid)
  }
  const note = (cid: string, bytes: Bytes): void => {
    if (bytes.length > maxBytes) return
    forget(cid)
    seen.set(cid, bytes)
    seenBytes += bytes.length
    for (const oldest of seen.keys()) {
      if (seenBytes <= maxBytes) break
      forget(oldest)
    }
  }
  return {
    note,
    /** Keeps a blob until `unpin`: it is nowhere else. */
    pin: ({ cid, bytes, uploader }: Extract<Write, { kind: 'blob' }>): void => {
      if (!pinned.has(cid)) pinned.set(cid, { bytes, uploader })
    },
    unpin: (): void => {
      for (const [cid, { bytes }] of pinned) note(cid, bytes)
      pinned.clear()
    },
    find: (cid: string): Bytes | undefined => pinned.get(cid)?.bytes ?? seen.get(cid),
    /** The bytes that are pinned for one kind of uploader. */
    pinnedBytes: (uploader: Uploader): number =>
      [...pinned.values()]
        .filter((kept) => kept.uploader === uploader)
        .reduce((sum, { bytes }) => sum + bytes.length, 0),
  }
}

export type BlobCache = ReturnType<typeof createBlobCache>

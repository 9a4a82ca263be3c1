import type { HeldKey, StoreRecord, Uploader, Write } from '../store.ts'

type KeyWrite = Extract<Write, { kind: 'key' | 'release-key' }>
type BlobWrite =
  | Extract<Write, { kind: 'blob' | 'keep-blob' }>
  | Extract<StoreRecord, { kind: 'blob' }>

/** Creates a map of keys and the values that have them. */
export function createMemoryKeys() {
  const keys = new Map<string, HeldKey>()
  const at = (key: string, now: number): HeldKey | undefined => {
    const held = keys.get(key)
    return held && held.expiresAt > now ? held : undefined
  }
  return {
    isAcceptable: (write: KeyWrite): boolean => {
      const { key, value } = write
      if (write.kind === 'release-key') return keys.get(key)?.value === value
      const held = at(key, write.now)
      return held === undefined || held.value === value || held.value === write.insteadOf
    },
    remove: (key: string): void => {
      keys.delete(key)
    },
    put: ({ key, value, expiresAt }: HeldKey): void => {
      keys.set(key, { key, value, expiresAt })
    },
    has: (key: string): boolean => keys.has(key),
    find: (key: string, now: number): string | undefined => at(key, now)?.value,
    list: (prefix: string, now: number): readonly HeldKey[] =>
      [...keys.values()]
        .filter(({ key, expiresAt }) => key.startsWith(prefix) && expiresAt > now)
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    all: (): readonly HeldKey[] => [...keys.values()],
    prune: (now: number, limit: number): number => {
      const old = [...keys.values()].filter(({ expiresAt }) => expiresAt <= now).slice(0, limit)
      for (const { key } of old) keys.delete(key)
      return old.length
    },
  }
}

export type MemoryKeys = ReturnType<typeof createMemoryKeys>

type Blob = {
  readonly cid: string
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly uploader: Uploader
  readonly until: number
}

/** Creates a map of blobs by CID. */
export function createMemoryBlobs() {
  const blobs = new Map<string, Blob>()
  return {
    /** Adds a blob, or keeps one that is there already until `until` at least. */
    put: (write: BlobWrite): void => {
      const { cid } = write
      const known = blobs.get(cid)
      const until = Math.max(write.until, known?.until ?? 0)
      if (known) blobs.set(cid, { ...known, until })
      else if (write.kind === 'blob')
        blobs.set(cid, { cid, bytes: write.bytes, uploader: write.uploader, until })
    },
    remove: (cid: string): boolean => blobs.delete(cid),
    find: (cid: string) => blobs.get(cid)?.bytes,
    count: (uploader: Uploader): number =>
      [...blobs.values()]
        .filter((blob) => blob.uploader === uploader)
        .reduce((sum, { bytes }) => sum + bytes.length, 0),
    all: (): readonly Blob[] => [...blobs.values()],
    prune: (now: number, limit: number): number => {
      const old = [...blobs.values()].filter(({ until }) => until <= now).slice(0, limit)
      for (const { cid } of old) blobs.delete(cid)
      return old.length
    },
  }
}

export type MemoryBlobs = ReturnType<typeof createMemoryBlobs>

import type { Address } from '../../lib/codecs.ts'
import type { Keep, Uploader, WriteOf } from '../store/store.ts'

/** The room of one kind of uploader in bytes: all of it, what is free, and what an upload can have at most, once unused blobs are dropped. */
export type Room = {
  readonly bytes: number
  readonly freeBytes: number
  readonly openBytes: number
}

/** Sealed blobs by their content identifier; times in milliseconds. Any method may throw ProblemError `unavailable` for a while. */
export interface Blobs {
  /**
   * Keeps a blob, and drops blobs that are not in use if there is no room. Returns false when there is no room for this kind of uploader.
   * Throws `unavailable` when the account has used its share.
   */
  put(
    cid: string,
    bytes: Uint8Array<ArrayBuffer>,
    options: Keep & {
      readonly uploader: Uploader
      /** The account that uploads it. */
      readonly account?: Address | undefined
      readonly signal?: AbortSignal | undefined
    },
  ): Promise<boolean>
  /** Keeps blobs longer. Those that are not here are left out. */
  keep(cids: readonly string[], keep: Keep): Promise<void>
  /** Returns the writes of the store that keep blobs longer, if they are here, to save them together with the document that needs them. */
  keeping(cids: readonly string[], keep: Keep): Promise<readonly WriteOf<'keep-blob'>[]>
  /** Returns the bytes that hash to the CID; undefined when they are not kept here. */
  get(cid: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** The room of each kind of uploader, 15 s old at most. */
  rooms(): Promise<Readonly<Record<Uploader, Room>>>
  /** Throws when a service besides the store that keeps the blobs does not answer. */
  ping(signal?: AbortSignal): Promise<void>
  /** Removes blobs whose rows the store has deleted, while `mayGoOn`. Returns how many were removed. */
  prune(mayGoOn: () => boolean): Promise<number>
}

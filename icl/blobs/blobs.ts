import type { Address } from '../../lib/codecs.ts'
import type { Uploader, Write } from '../store/store.ts'

type KeepWrite = Extract<Write, { kind: 'keep-blob' }>

/** Sealed blobs by their content identifier; times in milliseconds. Any method may throw ProblemError `unavailable` for a while. */
export interface Blobs {
  /** Keeps a blob until `until`. Returns false when there is no room for this kind of uploader, or for this `node`. */
  put(
    cid: string,
    bytes: Uint8Array<ArrayBuffer>,
    options: {
      readonly uploader: Uploader
      /** The node that uploads it. */
      readonly node?: Address | undefined
      readonly until: number
      readonly signal?: AbortSignal | undefined
    },
  ): Promise<boolean>
  /**
   * Returns the writes of the store that keep blobs longer, to save them together with the document that needs them. The store refuses the
   * write of a missing blob. `noteKept` reports that they were saved.
   */
  keeping(cids: readonly string[], until: number): Promise<readonly KeepWrite[]>
  noteKept(writes: readonly KeepWrite[]): void
  /** Returns the bytes that hash to the CID; undefined when they are not kept here. */
  get(cid: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Throws when a service besides the store that keeps the blobs does not answer. */
  ping(signal?: AbortSignal): Promise<void>
  /** Removes blobs whose rows the store has deleted, while `mayGoOn`. Returns how many were removed. */
  prune(mayGoOn: () => boolean): Promise<number>
}

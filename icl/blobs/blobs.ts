import type { Address } from '../../lib/codecs.ts'
import type { Uploader, Write } from '../store/store.ts'

type KeepWrite = Extract<Write, { kind: 'keep-blob' }>

/** Sealed blobs by their content identifier; times in milliseconds. Any method may throw ProblemError `unavailable` for a while. */
export interface Blobs {
  /** Keeps a blob until `until`; false when there is no room left for this kind of uploader, or for this `node`. */
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
   * The writes of the store that keep blobs longer, to be saved together with what needs them; one that is refused is of a blob that is
   * not there. `noteKept` tells that they were saved.
   */
  keeping(cids: readonly string[], until: number): Promise<readonly KeepWrite[]>
  noteKept(writes: readonly KeepWrite[]): void
  /** The bytes that hash to the CID; undefined when they are not kept here. */
  get(cid: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Throws when what keeps the blobs does not answer, besides the store. */
  ping(signal?: AbortSignal): Promise<void>
  /** Lets go, while it may go on, of what the store no longer knows; returns how many blobs went. */
  prune(mayGoOn: () => boolean): Promise<number>
}

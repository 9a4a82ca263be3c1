import type { Address } from '../../lib/codecs.ts'
import type { Uploader } from '../store/store.ts'

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
  /** Keeps a blob that is there longer: a job needs it. */
  keep(cid: string, until: number): Promise<void>
  /** The bytes that hash to the CID; undefined when they are not kept here. */
  get(cid: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** Throws when what keeps the blobs does not answer, besides the store. */
  ping(signal?: AbortSignal): Promise<void>
  /** Lets go, while it may go on, of what the store no longer knows; returns how many blobs went. */
  prune(mayGoOn: () => boolean): Promise<number>
}

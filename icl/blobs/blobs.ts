/** Sealed blobs by their content identifier. */
export interface Blobs {
  /** False when there is no room left. */
  put(cid: string, bytes: Uint8Array<ArrayBuffer>): Promise<boolean>
  get(cid: string): Promise<Uint8Array<ArrayBuffer> | undefined>
}

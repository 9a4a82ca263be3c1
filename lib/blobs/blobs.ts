/** Sealed blobs by their content identifier. */
export interface Blobs {
  /** The blob's bytes, checked against the CID; throws SvcError `blob-unavailable` when no gateway has them in time. */
  download(cid: string, signal?: AbortSignal): Promise<Uint8Array<ArrayBuffer>>
}

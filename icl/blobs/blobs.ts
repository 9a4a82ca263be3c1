/** Who uploads a blob: neither takes the other's room, because wallets cost nothing to make. */
type Uploader = 'wallet' | 'node'

/** Sealed blobs by their content identifier; times in milliseconds. */
export interface Blobs {
  /** Keeps a blob until `until`; false when there is no room left for this kind of uploader. */
  put(
    cid: string,
    bytes: Uint8Array<ArrayBuffer>,
    options: { readonly uploader: Uploader; readonly until: number },
  ): Promise<boolean>
  /** Keeps a blob that is there longer: a job needs it. */
  keep(cid: string, until: number): Promise<void>
  get(cid: string): Promise<Uint8Array<ArrayBuffer> | undefined>
}

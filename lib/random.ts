/** The only source of randomness, fit for keys and nonces. */
export interface Random {
  bytes(length: number): Uint8Array<ArrayBuffer>
}

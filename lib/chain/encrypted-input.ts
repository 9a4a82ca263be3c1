import type { Hex } from 'viem'

/** An encrypted half of a key, signed for the wallet that encrypted it. `ctHash` is not the stored handle (spec 2.4). */
export type EncryptedInput = {
  readonly ctHash: bigint
  readonly securityZone: number
  readonly utype: number
  readonly signature: Hex
}

import type { Hex } from 'viem'

/** One encrypted half of a key, signed for the wallet that encrypted it; `ctHash` is not the handle to hand out (spec 2.4). */
export type EncryptedInput = {
  readonly ctHash: bigint
  readonly securityZone: number
  readonly utype: number
  readonly signature: Hex
}

/** What an encryption is doing: fetching keys, proving (the slow one), or having the proof verified. */
export type EncryptStep = 'prepare' | 'prove' | 'verify'

/** How to encrypt. */
export type EncryptOptions = {
  readonly signal?: AbortSignal
  readonly onStep?: (step: EncryptStep) => void
}

/** How to decrypt. */
type DecryptOptions = { readonly signal?: AbortSignal }

/** The FHE network that keeps the halves of keys and decrypts them for those whom its access list allows (spec 4). */
export interface Coprocessor {
  /** Encrypts two uint128 halves for this wallet; throws `coprocessor-encrypt-failed` or the errors of `decrypt`. */
  encrypt(
    high: bigint,
    low: bigint,
    options?: EncryptOptions,
  ): Promise<{ readonly high: EncryptedInput; readonly low: EncryptedInput }>
  /** Decrypts a stored handle for this wallet; throws `coprocessor-access-denied`, `coprocessor-too-many-requests` or `coprocessor-unavailable` (spec 7). */
  decrypt(handle: bigint, options?: DecryptOptions): Promise<bigint>
}

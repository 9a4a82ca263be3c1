import type { EncryptedInput } from '../chain/encrypted-input.ts'

/** A step of an encryption: fetching keys, proving (the slow one), or having the proof verified. */
export type EncryptStep = 'prepare' | 'prove' | 'verify'

/** Reports a step. `elapsedMs` counts from the step's start. A retry reports its steps again. */
export type EncryptNews = {
  readonly step: EncryptStep
  readonly phase: 'start' | 'end'
  readonly elapsedMs: number
  /** Set at the end of `prove`, unless the local chain needs no proof. */
  readonly proofBytes?: number
}

/** Options of `encrypt`. */
type EncryptOptions = {
  readonly signal?: AbortSignal
  readonly onStep?: (news: EncryptNews) => void
}

/** Options of `decrypt`. */
type DecryptOptions = { readonly signal?: AbortSignal }

/** Both halves of a key, encrypted. */
export type EncryptedHalves = { readonly high: EncryptedInput; readonly low: EncryptedInput }

/** The FHE network that keeps key halves and decrypts them for accounts on their access list (spec 4). */
export interface Coprocessor {
  /** Encrypts two uint128 halves for this wallet; throws `coprocessor-encrypt-failed` or the errors of `decrypt`. */
  encrypt(high: bigint, low: bigint, options?: EncryptOptions): Promise<EncryptedHalves>
  /** Decrypts a stored handle for this wallet; throws `coprocessor-access-denied`, `coprocessor-ciphertext-unknown`, `coprocessor-too-many-requests` or `coprocessor-unavailable` (spec 7). */
  decrypt(handle: bigint, options?: DecryptOptions): Promise<bigint>
}

/** Describes a step in one line, such as `prove: 7.1 s, 19194 bytes`. */
export const describeEncryption = ({ step, phase, elapsedMs, proofBytes }: EncryptNews): string => {
  if (phase === 'start') return step
  const size = proofBytes === undefined ? '' : `, ${proofBytes} bytes`
  return `${step}: ${(elapsedMs / 1000).toFixed(1)} s${size}`
}

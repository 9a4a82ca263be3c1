/** The inputs of a proof. Keys are hex, as the coprocessor serves them. */
export type ProofInput = {
  readonly publicKeyHex: string
  readonly crsHex: string
  /** uint128 values, in the order of the returned ciphertexts. */
  readonly values: readonly bigint[]
  /** Binds the proof to an account and a chain. */
  readonly metadata: Uint8Array
}

/** The time limit of an encryption with its proof, for one that hangs: a proof takes ten seconds of a core at low priority. */
export const proofLimitMs = 900_000

/** Encrypts values for the coprocessor and proves that they are well-formed: about 10 s of computing, outside the caller's thread. */
export interface Prover {
  /** Returns the serialised list of ciphertexts with its proof; throws SvcError `coprocessor-encrypt-failed`. */
  prove(input: ProofInput, signal: AbortSignal): Promise<Uint8Array>
}

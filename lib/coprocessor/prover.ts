/** What a proof is made of; the keys are hex as the coprocessor serves them. */
export type ProofInput = {
  readonly publicKeyHex: string
  readonly crsHex: string
  /** uint128 values, in the order in which their ciphertexts come back. */
  readonly values: readonly bigint[]
  /** Binds the proof to an account and a chain. */
  readonly metadata: Uint8Array
}

/**
 * How long encryption may take, its proof included. A proof takes ten seconds of a core, and its process gives way to others: the limit is
 * for one that hangs.
 */
export const proofLimitMs = 900_000

/** Encrypts values for the coprocessor and proves that they are well-formed: about 10 s of computing, away from the caller's thread. */
export interface Prover {
  /** Gives the serialised list of ciphertexts with its proof; throws SvcError `coprocessor-encrypt-failed`. */
  prove(input: ProofInput, signal: AbortSignal): Promise<Uint8Array>
}

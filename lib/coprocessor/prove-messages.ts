import type { ProofMaterial } from './build-proof.ts'

/** One proof to make, and where the FHE code is. */
export type ProveRequest = { readonly wasmUrl: string; readonly material: ProofMaterial }

/** The proof, or why there is none. */
export type ProveAnswer = { readonly proof: Uint8Array } | { readonly failure: string }

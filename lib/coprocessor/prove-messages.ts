import type { ProofMaterial } from './build-proof.ts'

/** A request for one proof, with the URL of the FHE code. */
export type ProveRequest = { readonly wasmUrl: string; readonly material: ProofMaterial }

/** The proof, or the reason for its failure. */
export type ProveAnswer = { readonly proof: Uint8Array } | { readonly failure: string }

import loadTfhe, { init_panic_hook as explainPanics } from 'tfhe'
import { errorMessage } from '../error-message.ts'
import { buildProof, type ProofMaterial } from './build-proof.ts'

/** Makes the proof of a worker's request; never throws. `read` loads the FHE code. */
export async function answerProof(
  { wasmUrl, material }: ProveRequest,
  read: (url: string) => string | Promise<BufferSource>,
): Promise<ProveAnswer> {
  try {
    await loadTfhe({ module_or_path: await read(wasmUrl) })
    explainPanics()
    return { proof: buildProof(material) }
  } catch (error) {
    return { failure: errorMessage(error) }
  }
}

/** A request for one proof, with the URL of the FHE code. */
export type ProveRequest = { readonly wasmUrl: string; readonly material: ProofMaterial }

/** The proof, or the reason for its failure. */
export type ProveAnswer = { readonly proof: Uint8Array } | { readonly failure: string }

import loadTfhe, { init_panic_hook as explainPanics } from 'tfhe'
import { errorMessage } from '../error-message.ts'
import { buildProof } from './build-proof.ts'
import type { ProveAnswer, ProveRequest } from './prove-messages.ts'

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

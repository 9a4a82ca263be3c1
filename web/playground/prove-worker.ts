// One proof per worker: it is ended with its memory, which is how WASM gives memory back.

import loadTfhe, { init_panic_hook as explainPanics } from 'tfhe'
import { buildProof } from '../../lib/coprocessor/build-proof.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { ProveAnswer, ProveRequest } from './prove-messages.ts'

declare const self: Worker

async function answer({ wasmUrl, material }: ProveRequest): Promise<ProveAnswer> {
  try {
    await loadTfhe({ module_or_path: wasmUrl })
    explainPanics()
    return { proof: buildProof(material) }
  } catch (error) {
    return { failure: errorMessage(error) }
  }
}

self.addEventListener('message', ({ data }: MessageEvent<ProveRequest>) => {
  void answer(data).then((message) => self.postMessage(message))
})

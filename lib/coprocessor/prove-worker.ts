// One proof per worker, which then ends with its memory: the only way that WASM gives memory back.

import { answerProof } from './answer-proof.ts'
import type { ProveRequest } from './prove-messages.ts'

declare const self: Worker

self.addEventListener('message', ({ data }: MessageEvent<ProveRequest>) => {
  void answerProof(data, (url) => url).then((message) => self.postMessage(message))
})

// One proof per worker: it is ended with its memory, which is how WASM gives memory back.

import { answerProof } from './answer-proof.ts'
import type { ProveRequest } from './prove-messages.ts'

declare const self: Worker

self.addEventListener('message', ({ data }: MessageEvent<ProveRequest>) => {
  void answerProof(data, (url) => url).then((message) => self.postMessage(message))
})

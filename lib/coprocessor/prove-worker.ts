// One proof per worker, which then ends with its memory: the only way that WASM gives memory back.

import type { ProveRequest } from './answer-proof.ts'
import { answerProof } from './answer-proof.ts'

declare const self: Worker

self.addEventListener('message', ({ data }: MessageEvent<ProveRequest>) => {
  void answerProof(data, (url) => url).then((message) => self.postMessage(message))
})

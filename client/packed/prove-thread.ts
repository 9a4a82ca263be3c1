// One proof per thread: it is ended with its memory, which is how WASM gives memory back.
import { readFile } from 'node:fs/promises'
import { parentPort } from 'node:worker_threads'
import type { ProveRequest } from '../../lib/coprocessor/answer-proof.ts'
import { answerProof } from '../../lib/coprocessor/answer-proof.ts'

parentPort?.once('message', (request: ProveRequest) => {
  void answerProof(request, (url) => readFile(new URL(url))).then((answer) =>
    parentPort?.postMessage(answer),
  )
})

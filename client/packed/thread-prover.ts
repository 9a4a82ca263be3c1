import { Worker } from 'node:worker_threads'
import type { ProveAnswer } from '../../lib/coprocessor/answer-proof.ts'
import type { Prover } from '../../lib/coprocessor/prover.ts'
import { createWorkerProver, type ProofWorker } from '../../lib/coprocessor/worker-prover.ts'

const beside = (name: string): URL => new URL(`./${name}`, import.meta.url)

/** A thread of Node's in the place of a browser's worker. */
function startThread(): ProofWorker {
  const thread = new Worker(beside('prove-thread.js'))
  return {
    addEventListener: (type: 'message' | 'error', hear: (event: never) => void) =>
      void (type === 'message'
        ? thread.on('message', (data: ProveAnswer) => hear({ data } as never))
        : thread.on('error', ({ message }) => hear({ message } as never))),
    postMessage: (request, transfer) => thread.postMessage(request, transfer),
    terminate: () => thread.terminate(),
  }
}

/** Makes proofs in threads, by modules that are packed beside this one. */
export const createThreadProver = (): Prover =>
  createWorkerProver({ startWorker: startThread, wasmUrl: beside('tfhe_bg.wasm').href })

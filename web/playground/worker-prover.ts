import { type Hex, hexToBytes } from 'viem'
import type { Clock } from '../../lib/clock.ts'
import type { ProofInput, Prover } from '../../lib/coprocessor/prover.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { ProveAnswer, ProveRequest } from './prove-messages.ts'

const proofTimeoutMs = 240_000
const maxProofBytes = 1 << 20

/** How proofs are made in a browser. */
export type WorkerProverOptions = {
  readonly clock: Clock
  readonly startWorker: () => Worker
  /** Where the FHE code is. */
  readonly wasmUrl: string
}

const failed = (why: string, hint: string): SvcError =>
  new SvcError('coprocessor-encrypt-failed', `CoFHE encrypt failed: ${why}`, { hint })

const requestOf = (
  wasmUrl: string,
  { publicKeyHex, crsHex, values, metadata }: ProofInput,
): ProveRequest => ({
  wasmUrl,
  material: {
    publicKey: hexToBytes(publicKeyHex as Hex),
    crs: hexToBytes(crsHex as Hex),
    values,
    metadata,
  },
})

/** Makes each proof in a Web Worker of its own, which is ended with its memory; throws SvcError `coprocessor-encrypt-failed`. */
export function createWorkerProver({ clock, startWorker, wasmUrl }: WorkerProverOptions): Prover {
  const late = () =>
    failed(`no proof within ${proofTimeoutMs / 1000} s`, 'Close other pages that compute a lot.')

  const proveIn = async (worker: Worker, request: ProveRequest, signal: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<ProveAnswer>()
    worker.addEventListener('message', ({ data }: MessageEvent<ProveAnswer>) => resolve(data))
    worker.addEventListener('error', ({ message }) =>
      resolve({ failure: message || 'the worker cannot be started' }),
    )
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    const { publicKey, crs } = request.material
    worker.postMessage(request, [publicKey.buffer, crs.buffer] as ArrayBuffer[])
    return await promise
  }
  return {
    prove: (input, signal) =>
      withDeadline(clock, proofTimeoutMs, signal, late, async (ended) => {
        const request = requestOf(wasmUrl, input)
        const worker = startWorker()
        try {
          const answer = await proveIn(worker, request, ended)
          if ('failure' in answer) {
            throw failed(answer.failure, 'Reload the page. A proof takes about 200 MB of memory.')
          }
          if (answer.proof.length > 0 && answer.proof.length <= maxProofBytes) return answer.proof
          throw failed('the worker gave no proof', 'Reload the page.')
        } finally {
          worker.terminate()
        }
      }),
  }
}

import { type Hex, hexToBytes } from 'viem'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { SvcError } from '../svc-error.ts'
import { systemClock } from '../system.ts'
import type { ProveAnswer, ProveRequest } from './answer-proof.ts'
import type { ProofInput, Prover } from './prover.ts'

const proofTimeoutMs = 240_000
const maxProofBytes = 1 << 20

/** A thread that makes one proof: a browser's Worker or a substitute. */
export type ProofWorker = {
  addEventListener(type: 'message', hear: (event: { readonly data: ProveAnswer }) => void): void
  addEventListener(type: 'error', hear: (event: { readonly message: string }) => void): void
  postMessage(request: ProveRequest, transfer: ArrayBuffer[]): void
  terminate(): unknown
}

/** Options of `createWorkerProver`. */
export type WorkerProverOptions = {
  /** The system's clock when left out. */
  readonly clock?: Clock
  /** Starts the module `prove-worker` in a new thread. */
  readonly startWorker: () => ProofWorker
  /** The URL of the FHE code, `tfhe_bg.wasm`. */
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

/** Makes each proof in a new worker, which then ends with its memory; throws SvcError `coprocessor-encrypt-failed`. */
export function createWorkerProver(options: WorkerProverOptions): Prover {
  const { clock = systemClock, startWorker, wasmUrl } = options
  const late = () =>
    failed(
      `no proof within ${proofTimeoutMs / 1000} s`,
      'Close other programs and pages that compute a lot.',
    )

  const proveIn = (worker: ProofWorker, request: ProveRequest, signal: AbortSignal) =>
    new Promise<ProveAnswer>((resolve, reject) => {
      worker.addEventListener('message', ({ data }) => resolve(data))
      worker.addEventListener('error', ({ message }) =>
        resolve({ failure: message || 'the worker cannot be started' }),
      )
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      const { publicKey, crs } = request.material
      worker.postMessage(request, [publicKey.buffer, crs.buffer] as ArrayBuffer[])
    })
  return {
    prove: (input, signal) =>
      withDeadline(clock, proofTimeoutMs, signal, late, async (ended) => {
        const request = requestOf(wasmUrl, input)
        const worker = startWorker()
        try {
          const answer = await proveIn(worker, request, ended)
          if ('failure' in answer) {
            throw failed(answer.failure, 'Try again. A proof takes about 200 MB of memory.')
          }
          if (answer.proof.length > 0 && answer.proof.length <= maxProofBytes) return answer.proof
          throw failed('the worker gave no proof', 'Try again.')
        } finally {
          worker.terminate()
        }
      }),
  }
}

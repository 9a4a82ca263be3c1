import type { EncryptedHalves, EncryptNews } from '../../lib/coprocessor/coprocessor.ts'
import type { CoprocessorUrls } from '../../lib/schemas/coprocessor-urls.ts'
import type { SvcError } from '../../lib/svc-error.ts'

/** The worker's wallet and services. */
export type CoprocessorStart = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly address: string
  readonly coprocessor?: CoprocessorUrls | undefined
  /** The URLs of the worker for proofs and of the FHE code. */
  readonly proveWorkerUrl: string
  readonly wasmUrl: string
}

/** A message of the page. `id` names a call, also to end it. */
export type ToWorker =
  | { readonly kind: 'start'; readonly start: CoprocessorStart }
  | { readonly kind: 'encrypt'; readonly id: number; readonly high: bigint; readonly low: bigint }
  | { readonly kind: 'decrypt'; readonly id: number; readonly handle: bigint }
  | { readonly kind: 'cancel'; readonly id: number }
  | { readonly kind: 'signed'; readonly id: number; readonly signature: `0x${string}` }
  | { readonly kind: 'not-signed'; readonly id: number; readonly error: ErrorParts }

/** An SvcError without its cause. */
export type ErrorParts = Pick<SvcError, 'code' | 'message' | 'hint' | 'retryable'>

/** A message of the worker: progress and results of calls, and permits for the wallet to sign. */
export type FromWorker =
  | { readonly kind: 'news'; readonly id: number; readonly news: EncryptNews }
  | { readonly kind: 'done'; readonly id: number; readonly value: EncryptedHalves | bigint }
  | { readonly kind: 'failed'; readonly id: number; readonly error: ErrorParts }
  | { readonly kind: 'sign'; readonly id: number; readonly typedData: unknown }

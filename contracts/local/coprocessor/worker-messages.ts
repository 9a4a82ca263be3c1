import type { Hex } from 'viem'

/** The folders of the worker. */
export type WorkerPlace = {
  readonly keysFolder: string
  readonly dataFolder: string
  /** The fingerprint that the public key must have. Without one the worker takes any keys, or makes new ones. */
  readonly fingerprint?: string | undefined
}

/** The worker's computations. Bytes travel as base64, because the messages are JSON. */
export type Work = {
  readonly verify: {
    readonly input: { readonly list: string; readonly metadata: string }
    /** The raw hashes of the ciphertexts, which are on disk by the time of the reply. */
    readonly output: readonly Hex[]
  }
  readonly decrypt: {
    readonly input: { readonly handle: Hex }
    /** The value in decimal. */
    readonly output: string
  }
}

/** A request for one computation. */
export type WorkRequest = {
  [Kind in keyof Work]: {
    readonly id: number
    readonly kind: Kind
    readonly input: Work[Kind]['input']
  }
}[keyof Work]

/** A message of the worker: its state, or the result of a computation. */
export type WorkerNews =
  | { readonly state: 'making-keys' | 'preparing' | 'ready' }
  | { readonly state: 'failed'; readonly why: string }
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly refused: string }

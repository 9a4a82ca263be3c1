import type { Hex } from 'viem'

/** Where the worker finds what it works with. */
export type WorkerPlace = {
  readonly keysFolder: string
  readonly dataFolder: string
  /** That of the public key it has to find; any keys will do when left out, and new ones are made if there are none. */
  readonly fingerprint?: string | undefined
}

/** What the worker does: bytes go as base64, because JSON carries the messages. */
export type Work = {
  readonly verify: {
    readonly input: { readonly list: string; readonly metadata: string }
    /** The raw hashes of the ciphertexts, which lie on disk when it answers. */
    readonly output: readonly Hex[]
  }
  readonly decrypt: {
    readonly input: { readonly handle: Hex }
    /** The value in decimal. */
    readonly output: string
  }
}

/** One piece of work. */
export type WorkRequest = {
  [Kind in keyof Work]: {
    readonly id: number
    readonly kind: Kind
    readonly input: Work[Kind]['input']
  }
}[keyof Work]

/** What the worker says: that it is making keys, that it is ready, and what came of a piece of work. */
export type WorkerNews =
  | { readonly state: 'making-keys' | 'preparing' | 'ready' }
  | { readonly state: 'failed'; readonly why: string }
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly refused: string }

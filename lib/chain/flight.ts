import type { Hex, TransactionReceipt } from 'viem'
import type { Clock, MonotonicMs } from '../clock.ts'
import type { ChainWriter } from './clients.ts'
import type { Fees } from './fees.ts'

/** A transaction as it is stored until it is in a block. It holds only what the chain sees anyhow. */
export type KeptFlight = {
  readonly nonce: number
  /** The function that it calls. */
  readonly call: string
  readonly request: {
    readonly to: Hex
    readonly data: Hex
    readonly gas: bigint
    readonly value?: bigint
  }
  /** Of the last version. */
  readonly fees: Fees
  /** The most that a unit of its gas may cost, in wei, where its caller set a limit. */
  readonly mostWei?: bigint | undefined
  /** Every version that makes the call, signed, and every empty transfer in its place. A block may include any of them. */
  readonly versions: readonly Hex[]
  readonly cancels: readonly Hex[]
  /** When the first version was sent: milliseconds since the Unix epoch. */
  readonly firstSentAt: number
  /** Whether its call is of no use any more: an empty transfer replaces it when it is stuck. */
  readonly isGivenUp: boolean
}

/** The version of a transaction that was signed last. */
export const rawOf = ({ versions, cancels }: KeptFlight): Hex =>
  cancels.at(-1) ?? versions.at(-1) ?? '0x'

/** Keeps an account's transactions for its next process. */
export interface FlightStore {
  all(): Promise<readonly KeptFlight[]>
  save(flight: KeptFlight): Promise<void>
  /** Removes the transaction with a nonce, if there is one. */
  remove(nonce: number): Promise<void>
}

/** A transaction that was sent and is not in a block yet. */
export type Flight = {
  kept: KeptFlight
  readonly sentAt: MonotonicMs
  /** When its last version was handed to the RPC, and after how long it is handed over again. */
  handedAt: MonotonicMs
  againMs: number
  /** Why the RPC may not have it. */
  why: unknown
  /** How many looks found its nonce used by none of its versions, or found it in no block any more. */
  strangers: number
  readonly landed: Promise<TransactionReceipt>
  readonly resolve: (receipt: TransactionReceipt) => void
  readonly reject: (reason: unknown) => void
}

/** How many transactions no block includes, and for how many milliseconds the oldest has waited. */
export type Stalled = { readonly count: number; readonly ms: number }

/** An event of a transaction: `busy`: the RPC does not take it now; `limit`: its fees may not rise; `removed`: a reorganisation took it out of its block. */
export type FlightNews = {
  readonly kind: 'busy' | 'replaced' | 'cancelled' | 'limit' | 'removed' | 'refused' | 'landed'
  readonly flight: KeptFlight
  readonly why?: unknown
  /** Of a transaction that landed. */
  readonly receipt?: TransactionReceipt
}

/** How patient a sender is, in milliseconds. */
export type Patience = {
  readonly pollMs: number
  /** After how long without progress the next transaction is sent again with higher fees. */
  readonly stuckMs: number
  /** How long a transaction is watched after it got into a block, which a reorganisation may remove. Not at all by default. */
  readonly settleMs?: number
  /** The most that a unit of gas may cost, in wei; ten times the chain's present fees by default. */
  readonly mostWei?: bigint | undefined
  /** Called once for each time in which no block includes the transactions, although they were sent again with higher fees. */
  readonly onStalled?: ((stalled: Stalled) => void) | undefined
  readonly onNews?: ((news: FlightNews) => void) | undefined
  /** Ends the watch. */
  readonly signal?: AbortSignal | undefined
}

// Chains keep few waiting transactions of one account, and urgent ones go before the queue here.
export const maxFlights = 16

/** A sender's transactions under way. */
export type SenderState = {
  readonly writer: ChainWriter
  readonly clock: Clock
  readonly patience: Patience
  readonly store: FlightStore | undefined
  readonly flights: Map<number, Flight>
  /** Those that got into a block lately. */
  readonly settling: Map<number, Flight & { readonly landedAt: MonotonicMs }>
  /** The nonce after the highest flight; counted only while there are flights, else the chain is asked. */
  next: number
  isWatching: boolean
  movedAt: MonotonicMs
  /** True once `onStalled` was called for the current stall. */
  isStallTold: boolean
}

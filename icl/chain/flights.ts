import { type Hex, keccak256, type TransactionReceipt } from 'viem'
import { broadcast } from '../../lib/chain/broadcast.ts'
import { isNonceTaken } from '../../lib/chain/chain-error.ts'
import type { ChainWriter } from '../../lib/chain/clients.ts'
import type { Fees } from '../../lib/chain/fees.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** A transaction that was sent and is not in a block yet. */
export type Flight = {
  readonly nonce: number
  readonly request: { readonly to: Hex; readonly data: Hex; readonly gas: bigint }
  readonly sentAt: MonotonicMs
  fees: Fees
  raw: Hex
  /** Every version of it: any of them may be the one that gets into a block. */
  readonly hashes: Hex[]
  /** Looks at which its nonce was used, but by none of its versions. */
  strangers: number
  readonly landed: Promise<TransactionReceipt>
  readonly resolve: (receipt: TransactionReceipt) => void
  readonly reject: (reason: unknown) => void
}

/** Transactions that no block takes, and for how many milliseconds the oldest has waited. */
export type Stalled = { readonly count: number; readonly ms: number }

/** How patient a sender is, in milliseconds. */
export type Patience = {
  readonly pollMs: number
  /** After how long without progress the next transaction is sent again with higher fees. */
  readonly stuckMs: number
  /** Hears once of each time in which no block takes what was sent, although it was sent again with higher fees. */
  readonly onStalled?: ((stalled: Stalled) => void) | undefined
}

// Chains keep only so many transactions of one account waiting; what is urgent goes before what is queued here.
export const maxFlights = 16

/** A sender's transactions under way. */
export type SenderState = {
  readonly writer: ChainWriter
  readonly clock: Clock
  readonly patience: Patience
  readonly flights: Map<number, Flight>
  /** The nonce after the highest flight; counted only while there are flights, else the chain is asked. */
  next: number
  isWatching: boolean
  movedAt: MonotonicMs
  /** That nothing moves was told. */
  isStallTold: boolean
  /** The first nonce that another process left open, and the fees of the last attempt to fill it. */
  filler: { readonly nonce: number; readonly fees: Fees } | undefined
}

/** Transactions that wait for a block for too long; undefined when none does. */
export const stalledOf = ({ flights, clock, patience }: SenderState): Stalled | undefined => {
  const waits = [...flights.values()].map(({ sentAt }) => elapsedSince(clock, sentAt))
  const ms = Math.max(0, ...waits)
  // Twice as long: by then it has been sent again with higher fees.
  return ms >= 2 * patience.stuckMs ? { count: waits.length, ms } : undefined
}

/** Makes a flight of a signed transaction. */
export function flightOf(
  nonce: number,
  request: Flight['request'],
  fees: Fees,
  raw: Hex,
  sentAt: MonotonicMs,
): Flight {
  let resolve: Flight['resolve'] = () => {}
  let reject: Flight['reject'] = () => {}
  const landed = new Promise<TransactionReceipt>((onReceipt, onFailure) => {
    resolve = onReceipt
    reject = onFailure
  })
  // It may fail before anybody listens.
  landed.catch(() => {})
  return {
    nonce,
    request,
    sentAt,
    fees,
    raw,
    hashes: [keccak256(raw)],
    strangers: 0,
    landed,
    resolve,
    reject,
  }
}

/** How many nonces of the account the chain has used, or knows of. */
export const countOf = ({ writer }: SenderState, blockTag: 'latest' | 'pending'): Promise<number> =>
  writer.publicClient.getTransactionCount({
    address: writer.walletClient.account.address,
    blockTag,
  })

/** What a sender throws when the chain did not take a transaction. */
export const asError = (outcome: 'taken' | Error): Error =>
  outcome === 'taken'
    ? new SvcError('chain-nonce-taken', 'Another process keeps sending from this account', {
        hint: 'Use the account for one ICL only.',
        retryable: true,
      })
    : outcome

/** Hands a signed transaction to the chain; `taken` when another process has used its nonce. */
export async function handOut(
  writer: ChainWriter,
  raw: Hex,
): Promise<'sent' | 'unknown' | 'taken' | Error> {
  try {
    return await broadcast(writer, raw)
  } catch (error) {
    if (isNonceTaken(error)) return 'taken'
    return error instanceof Error ? error : new Error(String(error))
  }
}

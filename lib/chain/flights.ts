import { type Hex, keccak256, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem'
import { type Clock, elapsedSince, type MonotonicMs } from '../clock.ts'
import { SvcError } from '../svc-error.ts'
import { broadcast } from './broadcast.ts'
import { isNonceTaken, isRateLimited } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'
import { bumpedFees, currentFees, type Fees, signWith } from './fees.ts'

/** A transaction that was sent and is not in a block yet. */
export type Flight = {
  readonly nonce: number
  readonly request: { readonly to: Hex; readonly data: Hex; readonly gas: bigint }
  readonly sentAt: MonotonicMs
  fees: Fees
  raw: Hex
  /** The hash of every version. A block may include any of them. */
  readonly hashes: Hex[]
  /** How many looks found its nonce used by none of its versions. */
  strangers: number
  readonly landed: Promise<TransactionReceipt>
  readonly resolve: (receipt: TransactionReceipt) => void
  readonly reject: (reason: unknown) => void
}

/** How many transactions no block includes, and for how many milliseconds the oldest has waited. */
export type Stalled = { readonly count: number; readonly ms: number }

/** How patient a sender is, in milliseconds. */
export type Patience = {
  readonly pollMs: number
  /** After how long without progress the next transaction is sent again with higher fees. */
  readonly stuckMs: number
  /** Called once for each time in which no block includes the transactions, although they were sent again with higher fees. */
  readonly onStalled?: ((stalled: Stalled) => void) | undefined
}

// Chains keep few waiting transactions of one account, and urgent ones go before the queue here.
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
  /** True once `onStalled` was called for the current stall. */
  isStallTold: boolean
  /** The first nonce that another process left open, and the fees of the last attempt to fill it. */
  filler: { readonly nonce: number; readonly fees: Fees } | undefined
}

/** Returns the transactions that have waited too long for a block; undefined when none has. */
export const stalledOf = ({ flights, clock, patience }: SenderState): Stalled | undefined => {
  const waits = [...flights.values()].map(({ sentAt }) => elapsedSince(clock, sentAt))
  const ms = Math.max(0, ...waits)
  // By twice that time it has been sent again with higher fees.
  return ms >= 2 * patience.stuckMs ? { count: waits.length, ms } : undefined
}

/** Creates the flight of a signed transaction. */
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

/** Returns how many nonces of the account the chain has used (`latest`) or knows of (`pending`). */
export const countOf = ({ writer }: SenderState, blockTag: 'latest' | 'pending'): Promise<number> =>
  writer.publicClient.getTransactionCount({
    address: writer.walletClient.account.address,
    blockTag,
  })

/** The error of a transaction that the chain did not take. */
export const asError = (outcome: 'taken' | Error): Error =>
  outcome === 'taken'
    ? new SvcError('chain-nonce-taken', 'Another process keeps sending from this account', {
        hint: 'Use the account for one ICL only.',
        retryable: true,
      })
    : outcome

/** Broadcasts a signed transaction. `taken`: another process has used its nonce. */
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

const maxStrangers = 5

/** Watches the flights until none is left. */
export async function watch(state: SenderState): Promise<void> {
  if (state.isWatching) return
  state.isWatching = true
  while (state.flights.size > 0) {
    // If the chain does not answer, the next look asks again.
    await look(state).catch(() => {})
    if (state.flights.size > 0) await state.clock.sleep(state.patience.pollMs)
  }
  state.isWatching = false
}

async function look(state: SenderState): Promise<void> {
  const { flights, clock, patience } = state
  const used = await countOf(state, 'latest')
  for (const flight of [...flights.values()]) {
    if (flight.nonce < used) await land(state, flight)
  }
  tellStall(state)
  const lowest = Math.min(...flights.keys())
  if (flights.size === 0 || lowest < used) return
  if (elapsedSince(clock, state.movedAt) < patience.stuckMs) return
  state.movedAt = clock.monotonic()
  const flight = flights.get(lowest)
  if (used < lowest) await fillUpTo(state, used, lowest)
  else if (flight) await replace(state, flight)
}

function tellStall(state: SenderState): void {
  const stalled = stalledOf(state)
  if (stalled !== undefined && !state.isStallTold) state.patience.onStalled?.(stalled)
  state.isStallTold = stalled !== undefined
}

/** Ends all flights: callers send again, and the next nonce is read from the chain. */
function giveUp({ flights }: SenderState, reason: Error): void {
  const all = [...flights.values()]
  flights.clear()
  for (const flight of all) flight.reject(reason)
}

async function land(state: SenderState, flight: Flight): Promise<void> {
  const { publicClient } = state.writer
  for (const hash of flight.hashes.toReversed()) {
    const receipt = await publicClient.getTransactionReceipt({ hash }).catch((error: unknown) => {
      // No other failure says whose transaction it was.
      if (error instanceof TransactionReceiptNotFoundError) return undefined
      throw error
    })
    if (!receipt) continue
    state.movedAt = state.clock.monotonic()
    state.flights.delete(flight.nonce)
    flight.resolve(receipt)
    return
  }
  flight.strangers += 1
  if (flight.strangers < maxStrangers) return
  state.flights.delete(flight.nonce)
  flight.reject(asError('taken'))
}

/** Sends a flight again with higher fees. */
async function replace(state: SenderState, flight: Flight): Promise<void> {
  const { writer } = state
  const fees = bumpedFees(flight.fees, await currentFees(writer))
  if (fees) {
    flight.raw = await signWith(writer, { ...flight.request, nonce: flight.nonce }, fees)
    flight.hashes.push(keccak256(flight.raw))
    flight.fees = fees
  }
  const outcome = await handOut(writer, flight.raw)
  // If the chain refuses it, for want of gas money for example, all later flights would wait in vain.
  if (outcome instanceof Error && !isRateLimited(outcome)) giveUp(state, outcome)
}

/** Fills the nonces below ours that are unused, or have stuck transactions of another process. */
async function fillUpTo(state: SenderState, first: number, lowest: number): Promise<void> {
  const { writer, filler } = state
  if (lowest - (await countOf(state, 'pending')) > maxFlights) {
    // Too many nonces to fill: the chain was restarted, or reorganised deeply.
    return giveUp(state, nonceGap())
  }
  const current = await currentFees(writer)
  const before = filler?.nonce === first ? filler.fees : undefined
  const fees = before ? (bumpedFees(before, current) ?? before) : current
  state.filler = { nonce: first, fees }
  const to = writer.walletClient.account.address
  for (let nonce = first; nonce < Math.min(lowest, first + maxFlights); nonce++) {
    await handOut(writer, await signWith(writer, { to, data: '0x', gas: 21_000n, nonce }, fees))
  }
}

function nonceGap(): Error {
  const hint = 'Nothing is lost: what was under way is sent again.'
  const message = 'The chain no longer knows earlier transactions of this account'
  return new SvcError('chain-nonce-gap', message, { hint, retryable: true })
}

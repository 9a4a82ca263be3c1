import { type Hex, keccak256, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem'
import { type Clock, elapsedSince } from '../clock.ts'
import { SvcError } from '../svc-error.ts'
import { type Broadcast, broadcast, retryAfterMs } from './broadcast.ts'
import { isFeeTooLow, isNonceTaken } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'
import { bumpedFees, currentFees, type Fees, lowerLimit, signWith } from './fees.ts'
import {
  type Flight,
  type KeptFlight,
  maxFlights,
  rawOf,
  type SenderState,
  type Stalled,
} from './flight.ts'

/** Returns the transactions that have waited too long for a block; undefined when none has. */
export const stalledOf = ({ flights, clock, patience }: SenderState): Stalled | undefined => {
  const waits = [...flights.values()].map(({ sentAt }) => elapsedSince(clock, sentAt))
  const ms = Math.max(0, ...waits)
  // By twice that time it has been sent again with higher fees.
  return ms >= 2 * patience.stuckMs ? { count: waits.length, ms } : undefined
}

/** Creates the flight of a signed transaction. */
export function flightOf(clock: Clock, kept: KeptFlight): Flight {
  let resolve: Flight['resolve'] = () => {}
  let reject: Flight['reject'] = () => {}
  const landed = new Promise<TransactionReceipt>((onReceipt, onFailure) => {
    resolve = onReceipt
    reject = onFailure
  })
  // It may fail before anybody listens.
  landed.catch(() => {})
  const sentAt = clock.monotonic()
  const waiting = { sentAt, handedAt: sentAt, againMs: sentAgainMs, why: undefined, strangers: 0 }
  return { kept, ...waiting, landed, resolve, reject }
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
        hint: 'Use the account for one ICL or node only.',
        retryable: true,
      })
    : outcome

/** Broadcasts a signed transaction. `taken`: another transaction has its nonce. */
export async function handOut(writer: ChainWriter, raw: Hex): Promise<Broadcast | 'taken' | Error> {
  try {
    return await broadcast(writer, raw)
  } catch (error) {
    if (isNonceTaken(error)) return 'taken'
    return error instanceof Error ? error : new Error(String(error))
  }
}

const sentAgainMs = 10_000
const busyMs = 1_000
const mostBusyMs = 8_000

/** Notes what the RPC responded to a flight. */
export function noteOutcome(
  { clock, patience }: SenderState,
  flight: Flight,
  outcome: Broadcast | 'taken',
): void {
  flight.handedAt = clock.monotonic()
  const isUnknown = outcome !== 'taken' && outcome.state === 'unknown'
  const before = flight.why === undefined ? 0 : flight.againMs
  flight.why = isUnknown ? outcome.why : undefined
  flight.againMs = isUnknown
    ? (retryAfterMs(outcome.why) ?? Math.min(Math.max(before * 2, busyMs), mostBusyMs))
    : sentAgainMs
  if (isUnknown) patience.onNews?.({ kind: 'busy', flight: flight.kept, why: outcome.why })
}

const maxStrangers = 5
// A reorganisation may be noticed later than a new block.
const settlePolls = 3
const mostMissing = 2

/** Watches the flights until none is left. */
export async function watch(state: SenderState): Promise<void> {
  const { clock, patience, flights, settling } = state
  if (state.isWatching) return
  state.isWatching = true
  do {
    // If the chain does not answer, the next look asks again.
    await look(state).catch(() => {})
    const polls = flights.size > 0 ? 1 : settlePolls
    if (flights.size + settling.size > 0)
      await clock.sleep(polls * patience.pollMs, patience.signal).catch(() => {})
  } while (flights.size + settling.size > 0 && patience.signal?.aborted !== true)
  state.isWatching = false
}

async function look(state: SenderState): Promise<void> {
  const { flights, clock, patience } = state
  const used = await countOf(state, 'latest')
  await adopt(state)
  await reviveRemoved(state, used)
  for (const flight of [...flights.values()]) {
    if (flight.kept.nonce < used) await land(state, flight)
  }
  tellStall(state)
  const lowest = Math.min(...flights.keys())
  if (flights.size === 0 || lowest < used) return
  await handOutAgain(state, used)
  if (elapsedSince(clock, state.movedAt) < patience.stuckMs) return
  state.movedAt = clock.monotonic()
  if (used < lowest) await fillUpTo(state, used, lowest)
  // No caller waits for empty transfers, so those that follow are replaced with it.
  for (let nonce = lowest; used === lowest && flights.has(nonce); nonce++) {
    const flight = flights.get(nonce)
    if (flight && (nonce === lowest || flight.kept.isGivenUp)) await replace(state, flight)
  }
}

/** Takes over what an earlier process of this account left, and what another process changed since. */
export async function adopt(state: SenderState): Promise<void> {
  for (const kept of (await state.store?.all()) ?? []) {
    if (state.settling.has(kept.nonce)) continue
    const flight = state.flights.get(kept.nonce)
    // A file may have been read before this process wrote it again.
    const isGivenUp = kept.isGivenUp || flight?.kept.isGivenUp === true
    if (flight) flight.kept = { ...(isNewer(kept, flight.kept) ? kept : flight.kept), isGivenUp }
    else addFlight(state, flightOf(state.clock, kept))
  }
}

const isNewer = (a: KeptFlight, b: KeptFlight): boolean =>
  a.versions.length + a.cancels.length > b.versions.length + b.cancels.length

/** Puts a transaction under way. */
export function addFlight(state: SenderState, flight: Flight): void {
  const { flights, clock } = state
  const { nonce } = flight.kept
  if (flights.size === 0) state.movedAt = clock.monotonic()
  state.next = Math.max(flights.size > 0 ? state.next : 0, nonce + 1)
  flights.set(nonce, flight)
}

/** Sends again what a reorganisation took out of its block, and stops watching what has been in one for long enough. */
async function reviveRemoved(state: SenderState, used: number): Promise<void> {
  const { settling, clock, patience } = state
  for (const [nonce, flight] of settling) {
    if (elapsedSince(clock, flight.landedAt) >= (patience.settleMs ?? 0)) settling.delete(nonce)
    // The servers behind one RPC see a block at different times.
    flight.strangers = used > nonce ? 0 : flight.strangers + 1
    if (flight.strangers < mostMissing) continue
    settling.delete(nonce)
    patience.onNews?.({ kind: 'removed', flight: flight.kept })
    const again = flightOf(clock, flight.kept)
    again.againMs = 0
    again.why = 'removed'
    await state.store?.save(flight.kept)
    addFlight(state, again)
  }
}

/** Hands over again, as they are, the transactions that the RPC may not have, and the lowest, which it may have lost. */
async function handOutAgain(state: SenderState, used: number): Promise<void> {
  const { writer, clock, flights, patience } = state
  for (const flight of [...flights.values()]) {
    const isDue = elapsedSince(clock, flight.handedAt) >= flight.againMs
    if (!isDue || (flight.why === undefined && flight.kept.nonce > used)) continue
    // An empty transfer costs less than a call that nothing needs any more.
    if (flight.kept.isGivenUp && flight.kept.cancels.length === 0) {
      await replace(state, flight)
      continue
    }
    const outcome = await handOut(writer, rawOf(flight.kept))
    if (!(outcome instanceof Error)) noteOutcome(state, flight, outcome)
    else if (isFeeTooLow(outcome)) await replace(state, flight)
    else {
      patience.onNews?.({ kind: 'refused', flight: flight.kept, why: outcome })
      return giveUp(state, outcome)
    }
  }
}

function tellStall(state: SenderState): void {
  const stalled = stalledOf(state)
  if (stalled !== undefined && !state.isStallTold) state.patience.onStalled?.(stalled)
  state.isStallTold = stalled !== undefined
}

/** Ends all flights: callers send again, and the next nonce is read from the chain. */
function giveUp({ flights, settling }: SenderState, reason: Error): void {
  const all = [...flights.values()]
  flights.clear()
  settling.clear()
  for (const flight of all) flight.reject(reason)
}

async function land(state: SenderState, flight: Flight): Promise<void> {
  const { publicClient } = state.writer
  const { nonce, versions, cancels } = flight.kept
  for (const raw of [...versions, ...cancels].toReversed()) {
    const hash = keccak256(raw)
    const receipt = await publicClient.getTransactionReceipt({ hash }).catch((error: unknown) => {
      // No other failure says whose transaction it was.
      if (error instanceof TransactionReceiptNotFoundError) return undefined
      throw error
    })
    if (!receipt) continue
    state.movedAt = state.clock.monotonic()
    await end(state, flight)
    const isCancel = cancels.includes(raw)
    state.patience.onNews?.({ kind: 'landed', flight: flight.kept, receipt })
    if (!isCancel && state.patience.settleMs !== undefined) {
      state.settling.set(nonce, { ...flight, strangers: 0, landedAt: state.clock.monotonic() })
    }
    return isCancel ? flight.reject(cancelled(flight.kept)) : flight.resolve(receipt)
  }
  flight.strangers += 1
  if (flight.strangers < maxStrangers) return
  await end(state, flight)
  flight.reject(asError('taken'))
}

async function end({ flights, store }: SenderState, { kept: { nonce } }: Flight): Promise<void> {
  flights.delete(nonce)
  await store?.remove(nonce)
}

const cancelled = ({ call, nonce }: KeptFlight): Error =>
  new SvcError(
    'chain-cancelled',
    `${call} was cancelled: an empty transfer has its nonce ${nonce}`,
    {
      hint: 'Nothing was paid but its gas.',
      retryable: true,
    },
  )

/** An empty transfer to the account itself, which takes the place of another transaction. */
const emptyOf = ({ walletClient }: ChainWriter) =>
  ({ to: walletClient.account.address, data: '0x', gas: 21_000n }) as const

/** Signs the next version of a transaction, and keeps it. */
export async function signedVersion(
  { writer, store }: SenderState,
  kept: KeptFlight,
  fees: Fees,
): Promise<KeptFlight> {
  const { nonce, isGivenUp } = kept
  const request = isGivenUp ? emptyOf(writer) : kept.request
  const raw = await signWith(writer, { ...request, nonce }, fees)
  const list = isGivenUp ? 'cancels' : 'versions'
  const signed = { ...kept, fees, [list]: [...kept[list], raw] }
  await store?.save(signed)
  return signed
}

/** Sends a flight again with higher fees. */
export async function replace(state: SenderState, flight: Flight): Promise<void> {
  const { writer, patience } = state
  const most = lowerLimit(patience.mostWei, flight.kept.mostWei)
  const fees = bumpedFees(flight.kept.fees, await currentFees(writer, most), most)
  if (fees) flight.kept = await signedVersion(state, flight.kept, fees)
  const rises = flight.kept.isGivenUp ? 'cancelled' : 'replaced'
  patience.onNews?.({ kind: fees ? rises : 'limit', flight: flight.kept })
  const outcome = await handOut(writer, rawOf(flight.kept))
  if (!(outcome instanceof Error)) return noteOutcome(state, flight, outcome)
  // Prices may fall. If the chain refuses it for want of gas money, for example, all later flights would wait in vain.
  if (isFeeTooLow(outcome)) return
  patience.onNews?.({ kind: 'refused', flight: flight.kept, why: outcome })
  giveUp(state, outcome)
}

/** Fills the nonces below ours that are unused, or have stuck transactions of another process. */
async function fillUpTo(state: SenderState, first: number, lowest: number): Promise<void> {
  const { writer, clock, patience } = state
  if (lowest - (await countOf(state, 'pending')) > maxFlights) {
    // Too many nonces to fill: the chain was restarted, or reorganised deeply.
    return giveUp(state, nonceGap())
  }
  const fees = await currentFees(writer, patience.mostWei)
  for (let nonce = first; nonce < Math.min(lowest, first + maxFlights); nonce++) {
    const flight = flightOf(clock, await signedVersion(state, unknownAt(state, nonce, fees), fees))
    addFlight(state, flight)
    patience.onNews?.({ kind: 'cancelled', flight: flight.kept })
    const outcome = await handOut(writer, rawOf(flight.kept))
    if (!(outcome instanceof Error)) noteOutcome(state, flight, outcome)
  }
}

/** A transaction of which only the nonce is known. */
export const unknownAt = (
  { writer, clock }: SenderState,
  nonce: number,
  fees: Fees,
): KeptFlight => ({
  ...{ nonce, call: 'unknown', request: emptyOf(writer), fees },
  ...{ versions: [], cancels: [], firstSentAt: clock.now(), isGivenUp: true },
})

function nonceGap(): Error {
  const hint = 'Nothing is lost: what was under way is sent again.'
  const message = 'The chain no longer knows earlier transactions of this account'
  return new SvcError('chain-nonce-gap', message, { hint, retryable: true })
}

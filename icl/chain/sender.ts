/*
 * Problem: the chain takes transactions of one account only in the order of their nonces. One that is stuck holds
 * up all after it, one that is lost leaves a gap, an answer from the RPC may be lost, and fees rise while a
 * transaction waits. The ICL has many results and grants to send, and cannot wait for each.
 *
 * Idea: up to 16 transactions are under way at once (flights), each with its own nonce. While there are any,
 * nonces are counted here; otherwise the chain's pending count says the next. One loop looks at the chain's count
 * of used nonces and lands the flights below it. When nothing has landed for stuckMs, only the lowest nonce
 * matters: a flight is signed again with the same nonce and higher fees, and a nonce below ours that nothing uses,
 * or where another process's transaction is stuck, is filled with an empty transfer to ourselves. Grants go before
 * results, because nodes wait for them.
 *
 * Invariants:
 * - All versions of a flight have one nonce: the chain takes at most one of them.
 * - A call is estimated before it is signed. One that reverts in the estimate uses no nonce.
 * - A promise ends only with a receipt, a failure, or the caller's signal. The signal ends the wait, not the
 *   transaction.
 *
 * Failure cases:
 * - The answer to a broadcast was lost: the flight counts as sent, and is sent again when it does not land.
 * - Another process used the nonce: at launch the next one is tried, six times; a flight whose nonce a stranger
 *   used fails with chain-nonce-taken after five looks.
 * - The chain refuses a replacement (no money, for example): all flights fail, since those behind it would wait in
 *   vain.
 * - The chain has forgotten more than 16 nonces (a restart, a deep reorganisation): all flights fail with
 *   chain-nonce-gap, and counting begins anew.
 * - The RPC is away, or limits requests: the loop asks again; at launch the caller hears of it. This process dies:
 *   its transactions may still land.
 *
 * Callers therefore look at the chain before they send again, and the contracts skip what they have.
 */

import { type Hex, keccak256, type TransactionReceipt, TransactionReceiptNotFoundError } from 'viem'
import { broadcast } from '../../lib/chain/broadcast.ts'
import { isNonceTaken, isRateLimited } from '../../lib/chain/chain-error.ts'
import type { ChainWriter } from '../../lib/chain/clients.ts'
import { bumpedFees, currentFees, type Fees, signWith } from '../../lib/chain/fees.ts'
import { type ContractCall, estimateCall, failedReceipt } from '../../lib/chain/send.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** A transaction that was sent and is not in a block yet. */
type Flight = {
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

/** What goes first when there is more than one thing to send. */
export type Urgency = 'grant' | 'result'

/** Sends the transactions of one account, many at a time, and sees each into a block. */
export type Sender = {
  /**
   * Sends a call and waits until it is in a block; throws viem errors, a revert included, and the signal's reason, which ends the
   * wait but not the transaction.
   */
  send(call: ContractCall, urgency: Urgency, signal?: AbortSignal): Promise<TransactionReceipt>
  /** What waits for a block longer than it should; undefined when nothing does. */
  stalled(): Stalled | undefined
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

const launchAttempts = 6
const launchPauseMs = 200
const maxStrangers = 5
// Chains keep only so many transactions of one account waiting; what is urgent goes before what is queued here.
const maxFlights = 16

type State = {
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
  /** The first nonce that somebody else left open, and with which fees filling it was tried last. */
  filler: { readonly nonce: number; readonly fees: Fees } | undefined
}

/**
 * Makes a sender. Nonces are taken from the chain's pending count while nothing is under way, and counted from there. What is
 * stuck is replaced with the same nonce and higher fees; a nonce that is open below ours is filled.
 */
export function createSender(writer: ChainWriter, clock: Clock, patience: Patience): Sender {
  const state: State = {
    writer,
    clock,
    patience,
    flights: new Map(),
    next: 0,
    isWatching: false,
    movedAt: clock.monotonic(),
    isStallTold: false,
    filler: undefined,
  }
  const queues: Record<Urgency, (() => Promise<void>)[]> = { grant: [], result: [] }
  let isLaunching = false
  const launchAll = async () => {
    if (isLaunching) return
    isLaunching = true
    for (;;) {
      while (state.flights.size >= maxFlights) await clock.sleep(patience.pollMs)
      const launch = queues.grant.shift() ?? queues.result.shift()
      if (!launch) break
      await launch()
    }
    isLaunching = false
  }
  return {
    stalled: () => stalledOf(state),
    send: async (call, urgency, signal) => {
      const launched = new Promise<Flight>((resolve, reject) => {
        queues[urgency].push(() => launch(state, call, signal).then(resolve, reject))
      })
      void launchAll()
      const flight = await launched
      const onAbort = () => {
        if (state.flights.get(flight.nonce) === flight) state.flights.delete(flight.nonce)
        flight.reject(signal?.reason)
      }
      if (signal?.aborted) onAbort()
      signal?.addEventListener('abort', onAbort, { once: true })
      try {
        const receipt = await flight.landed
        if (receipt.status !== 'success') {
          throw await failedReceipt(writer, call, flight.request.gas, receipt)
        }
        return receipt
      } finally {
        signal?.removeEventListener('abort', onAbort)
      }
    },
  }
}

const stalledOf = ({ flights, clock, patience }: State): Stalled | undefined => {
  const waits = [...flights.values()].map(({ sentAt }) => elapsedSince(clock, sentAt))
  const ms = Math.max(0, ...waits)
  // Twice as long: by then it has been sent again with higher fees.
  return ms >= 2 * patience.stuckMs ? { count: waits.length, ms } : undefined
}

function flightOf(
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

const countOf = ({ writer }: State, blockTag: 'latest' | 'pending'): Promise<number> =>
  writer.publicClient.getTransactionCount({
    address: writer.walletClient.account.address,
    blockTag,
  })

async function launch(
  state: State,
  call: ContractCall,
  signal: AbortSignal | undefined,
): Promise<Flight> {
  signal?.throwIfAborted()
  const { writer, clock, flights } = state
  // A call that would revert fails here already: it costs nothing and uses no nonce.
  const gas = await estimateCall(writer, call, signal)
  const request = { to: call.to, data: call.data, gas }
  for (let attempt = 1; ; attempt++) {
    const nonce = flights.size > 0 ? state.next : await countOf(state, 'pending')
    const fees = await currentFees(writer)
    signal?.throwIfAborted()
    const raw = await signWith(writer, { ...request, nonce }, fees)
    const flight = flightOf(nonce, request, fees, raw, clock.monotonic())
    const outcome = await handOut(writer, raw)
    if (outcome === 'sent' || outcome === 'unknown') {
      if (flights.size === 0) state.movedAt = clock.monotonic()
      flights.set(nonce, flight)
      state.next = nonce + 1
      void watch(state)
      return flight
    }
    if (outcome !== 'taken' || attempt === launchAttempts) throw asError(outcome)
    // Another process of this account has used the nonce.
    await clock.sleep(launchPauseMs, signal)
    state.next = Math.max(await countOf(state, 'pending'), 1 + Math.max(...flights.keys(), -1))
  }
}

const asError = (outcome: 'taken' | Error): Error =>
  outcome === 'taken'
    ? new SvcError('chain-nonce-taken', 'Another process keeps sending from this account', {
        hint: 'Use the account for one ICL only.',
        retryable: true,
      })
    : outcome

/** Hands a signed transaction to the chain; `taken` when another process has used its nonce. */
async function handOut(
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

/** Looks after what is under way until nothing is. */
async function watch(state: State): Promise<void> {
  if (state.isWatching) return
  state.isWatching = true
  while (state.flights.size > 0) {
    // A chain that does not answer is asked again.
    await look(state).catch(() => {})
    if (state.flights.size > 0) await state.clock.sleep(state.patience.pollMs)
  }
  state.isWatching = false
}

async function look(state: State): Promise<void> {
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

function tellStall(state: State): void {
  const stalled = stalledOf(state)
  if (stalled !== undefined && !state.isStallTold) state.patience.onStalled?.(stalled)
  state.isStallTold = stalled !== undefined
}

/** Ends all that is under way: whoever wants it sent asks again, and nonces are taken from the chain anew. */
function giveUp({ flights }: State, reason: Error): void {
  const all = [...flights.values()]
  flights.clear()
  for (const flight of all) flight.reject(reason)
}

/** Settles a flight whose nonce is used. */
async function land(state: State, flight: Flight): Promise<void> {
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

/** Sends a flight again, so that it is there, with fees that make it worth taking. */
async function replace(state: State, flight: Flight): Promise<void> {
  const { writer } = state
  const fees = bumpedFees(flight.fees, await currentFees(writer))
  if (fees) {
    flight.raw = await signWith(writer, { ...flight.request, nonce: flight.nonce }, fees)
    flight.hashes.push(keccak256(flight.raw))
    flight.fees = fees
  }
  const outcome = await handOut(writer, flight.raw)
  // What the chain refuses, for want of gas money for example, would be waited for in vain, and all after it.
  if (outcome instanceof Error && !isRateLimited(outcome)) giveUp(state, outcome)
}

/** Fills the nonces below ours that nothing fills, or whose transactions of another process are stuck. */
async function fillUpTo(state: State, first: number, lowest: number): Promise<void> {
  const { writer, filler } = state
  if (lowest - (await countOf(state, 'pending')) > maxFlights) {
    // It has forgotten more than it is worth filling: it was started anew, or went back a long way.
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

const nonceGap = (): Error =>
  new SvcError(
    'chain-nonce-gap',
    'The chain no longer knows earlier transactions of this account',
    {
      hint: 'Nothing is lost: what was under way is sent again.',
      retryable: true,
    },
  )

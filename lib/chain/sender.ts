/*
 * Problem: the chain takes transactions of one account only in the order of their nonces. A stuck transaction holds up all
 * later ones, a lost one leaves a gap, an answer of the RPC may be lost, and fees rise while a transaction waits. The ICL
 * has many results and grants to send, and cannot wait for each. A node's lease does not wait for low fees.
 *
 * Idea: up to 16 transactions (flights) are under way, each with its own nonce. The first nonce is the chain's pending count.
 * One loop reads the count of used nonces and lands the flights below it. When nothing has landed for stuckMs, only the
 * lowest nonce matters: its flight is signed again with higher fees. A nonce below ours that is unused or stuck is filled
 * with an empty transfer to ourselves. Grants go before results, because nodes wait for them. With a store, each version is
 * kept before it is sent, and the next process of the account continues with it.
 *
 * Invariants:
 * - All versions of a flight have one nonce: the chain takes at most one of them.
 * - A call is estimated before it is signed. A call that reverts in the estimate uses no nonce.
 * - A promise ends only with a receipt, a failure, or the caller's signal. The signal ends the wait, not the transaction.
 *
 * Failure cases:
 * - The answer to a broadcast was lost, or the RPC was busy: the flight counts as sent, and the same bytes are sent again.
 *   Without a store, a busy RPC at launch is the caller's error.
 * - Another process used the nonce: at launch the next nonce is tried, six times. A flight whose nonce a stranger used fails
 *   with chain-nonce-taken after five looks.
 * - The chain refuses a replacement (no money, for example): all flights fail, since the later ones would wait in vain.
 * - The chain has forgotten more than 16 nonces (a restart, a deep reorganisation): all flights fail with chain-nonce-gap.
 * - A reorganisation removes a transaction within settleMs: the same bytes are sent again, under the same nonce.
 * - The RPC is away: the loop asks again. At launch the caller gets the error.
 * - This process dies: its transactions may still land.
 *
 * Callers therefore read the chain before they send again, and the contracts skip what they have.
 */
import type { Hex, TransactionReceipt } from 'viem'
import type { Clock } from '../clock.ts'
import { SvcError } from '../svc-error.ts'
import { abortable } from './abortable.ts'
import { isFeeTooLow, isRateLimited, isUnreachable } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'
import { currentFees, lowerLimit } from './fees.ts'
import {
  type Flight,
  type FlightStore,
  maxFlights,
  type Patience,
  rawOf,
  type SenderState,
} from './flight.ts'
import {
  addFlight,
  adopt,
  asError,
  countOf,
  flightOf,
  handOut,
  noteOutcome,
  replace,
  signedVersion,
  stalledOf,
  unknownAt,
  watch,
} from './flights.ts'
import { type ContractCall, estimateCall, failedReceipt } from './send.ts'

/** Grants are sent before results. */
type Urgency = 'grant' | 'result'

/** Sends the transactions of one account, many at a time. */
export type Sender = ReturnType<typeof createSender>

const launchAttempts = 6
const launchPauseMs = 200

/** Creates a sender, which continues with what the store holds. */
export function createSender(
  writer: ChainWriter,
  clock: Clock,
  patience: Patience,
  store?: FlightStore,
) {
  const state: SenderState = {
    ...{ writer, clock, patience, store },
    flights: new Map(),
    settling: new Map(),
    next: 0,
    isWatching: false,
    movedAt: clock.monotonic(),
    isStallTold: false,
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
  if (store) void watch(state)
  return {
    /** Returns the transactions that have waited too long for a block; undefined when none has. */
    stalled: () => stalledOf(state),
    /** Sends a call and waits until it is in a block. Throws viem errors, a revert included, and the reason of the signal. */
    send: async (
      call: ContractCall,
      urgency: Urgency,
      signal?: AbortSignal,
    ): Promise<TransactionReceipt> => {
      const launched = new Promise<Flight>((resolve, reject) => {
        queues[urgency].push(() => launch(state, call, signal).then(resolve, reject))
      })
      void launchAll()
      const landed = launched.then(async (flight) => {
        try {
          return { flight, receipt: await abortable(flight.landed, signal) }
        } catch (error) {
          if (signal?.aborted) leave(state, flight, call)
          throw error
        }
      })
      const { flight, receipt } = await abortable(landed, signal)
      if (receipt.status === 'success') return receipt
      throw await failedReceipt(writer, call, flight.kept.request.gas, receipt)
    },
    /** Raises the fees of a transaction now, or has an empty transfer take its place, and waits until one of them is in a block. */
    raise: async (nonce: number, to: 'replace' | 'cancel', signal: AbortSignal): Promise<void> => {
      await adopt(state)
      if (to === 'replace' && !state.flights.has(nonce)) throw unknownTransaction(nonce)
      const fees = await currentFees(writer, patience.mostWei)
      const flight = state.flights.get(nonce) ?? flightOf(clock, unknownAt(state, nonce, fees))
      addFlight(state, flight)
      // The operator's own wish lifts the limit of the caller.
      flight.kept = { ...flight.kept, mostWei: undefined }
      if (to === 'cancel') flight.kept = { ...flight.kept, isGivenUp: true }
      await replace(state, flight)
      void watch(state)
      await abortable(flight.landed, signal)
    },
  }
}

const unknownTransaction = (nonce: number): SvcError =>
  new SvcError('transaction-unknown', `no transaction with nonce ${nonce} is on record here`, {
    hint: `Its content is not known, so only --cancel ${nonce} can take its place.`,
  })

/** Ends the wait for a flight. Its transaction stays, unless nothing needs it any more. */
function leave(state: SenderState, flight: Flight, call: ContractCall): void {
  const { nonce } = flight.kept
  if (state.flights.get(nonce) !== flight) return
  if (!call.isOnlyForNow) return void state.flights.delete(nonce)
  flight.kept = { ...flight.kept, isGivenUp: true }
  state.store?.save(flight.kept).catch(() => {})
}

/** Returns the nonce after all that the chain or this account's processes know. */
async function nextNonce(state: SenderState): Promise<number> {
  const { flights, settling } = state
  const known = Math.max(flights.size > 0 ? state.next : 0, 1 + Math.max(-1, ...settling.keys()))
  return Math.max(known, await countOf(state, 'pending'))
}

/** Hands a new transaction out. A caller without a store learns at once that the RPC is busy: it tells its operator, and tries again itself. */
async function launchOutcome({ writer, store }: SenderState, raw: Hex) {
  const outcome = await handOut(writer, raw)
  if (store || typeof outcome !== 'object' || !('why' in outcome)) return outcome
  const { why } = outcome
  const mayBeThere = isUnreachable(why) && !isRateLimited(why)
  return mayBeThere || !(why instanceof Error) ? outcome : why
}

async function launch(
  state: SenderState,
  call: ContractCall,
  signal: AbortSignal | undefined,
): Promise<Flight> {
  signal?.throwIfAborted()
  const { writer, clock, flights, patience } = state
  // A call that would revert fails here. It costs nothing and uses no nonce.
  const gas = await estimateCall(writer, call, signal)
  const { to, data, value, functionName, mostWei } = call
  const request = { to, data, gas, ...(value !== undefined && { value }) }
  for (let attempt = 1; ; attempt++) {
    await adopt(state)
    const nonce = await nextNonce(state)
    const fees = await currentFees(writer, lowerLimit(patience.mostWei, mostWei))
    signal?.throwIfAborted()
    const empty = { versions: [], cancels: [], firstSentAt: clock.now(), isGivenUp: false }
    const made = { nonce, call: functionName, request, fees, mostWei, ...empty }
    const flight = flightOf(clock, await signedVersion(state, made, fees))
    addFlight(state, flight)
    void watch(state)
    const outcome = await launchOutcome(state, rawOf(flight.kept))
    if (outcome !== 'taken' && !(outcome instanceof Error)) {
      noteOutcome(state, flight, outcome)
      return flight
    }
    if (flights.get(nonce) === flight) flights.delete(nonce)
    await state.store?.remove(nonce)
    const mayRepeat = outcome === 'taken' || isFeeTooLow(outcome)
    if (!mayRepeat || attempt === launchAttempts) throw asError(outcome)
    // Another process of this account has used the nonce, or prices rose.
    await clock.sleep(launchPauseMs, signal)
  }
}

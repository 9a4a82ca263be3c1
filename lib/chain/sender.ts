/*
 * Problem: the chain takes transactions of one account only in the order of their nonces. A stuck transaction holds up all
 * later ones, a lost one leaves a gap, an answer of the RPC may be lost, and fees rise while a transaction waits. The ICL
 * has many results and grants to send, and cannot wait for each.
 *
 * Idea: up to 16 transactions (flights) are under way, each with its own nonce. The first nonce is the chain's pending count.
 * One loop reads the count of used nonces and lands the flights below it. When nothing has landed for stuckMs, only the
 * lowest nonce matters: its flight is signed again with higher fees. A nonce below ours that is unused or stuck is filled
 * with an empty transfer to ourselves. Grants go before results, because nodes wait for them.
 *
 * Invariants:
 * - All versions of a flight have one nonce: the chain takes at most one of them.
 * - A call is estimated before it is signed. A call that reverts in the estimate uses no nonce.
 * - A promise ends only with a receipt, a failure, or the caller's signal. The signal ends the wait, not the transaction.
 *
 * Failure cases:
 * - The answer to a broadcast was lost: the flight counts as sent, and is sent again when it does not land.
 * - Another process used the nonce: at launch the next nonce is tried, six times. A flight whose nonce a stranger used fails
 *   with chain-nonce-taken after five looks.
 * - The chain refuses a replacement (no money, for example): all flights fail, since the later ones would wait in vain.
 * - The chain has forgotten more than 16 nonces (a restart, a deep reorganisation): all flights fail with chain-nonce-gap.
 * - The RPC is away, or limits requests: the loop asks again. At launch the caller gets the error.
 * - This process dies: its transactions may still land.
 *
 * Callers therefore read the chain before they send again, and the contracts skip what they have.
 */
import type { TransactionReceipt } from 'viem'
import type { Clock } from '../clock.ts'
import type { ChainWriter } from './clients.ts'
import { currentFees, signWith } from './fees.ts'
import {
  asError,
  countOf,
  type Flight,
  flightOf,
  handOut,
  maxFlights,
  type Patience,
  type SenderState,
  stalledOf,
  watch,
} from './flights.ts'
import { type ContractCall, estimateCall, failedReceipt } from './send.ts'

/** Grants are sent before results. */
type Urgency = 'grant' | 'result'

/** Sends the transactions of one account, many at a time. */
export type Sender = ReturnType<typeof createSender>

const launchAttempts = 6
const launchPauseMs = 200

/** Creates a sender that has nothing under way. */
export function createSender(writer: ChainWriter, clock: Clock, patience: Patience) {
  const state: SenderState = {
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

async function launch(
  state: SenderState,
  call: ContractCall,
  signal: AbortSignal | undefined,
): Promise<Flight> {
  signal?.throwIfAborted()
  const { writer, clock, flights } = state
  // A call that would revert fails here. It costs nothing and uses no nonce.
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

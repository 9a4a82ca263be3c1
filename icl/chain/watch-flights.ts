import { keccak256, TransactionReceiptNotFoundError } from 'viem'
import { isRateLimited } from '../../lib/chain/chain-error.ts'
import { bumpedFees, currentFees, signWith } from '../../lib/chain/fees.ts'
import { elapsedSince } from '../../lib/clock.ts'
import { SvcError } from '../../lib/svc-error.ts'
import {
  asError,
  countOf,
  type Flight,
  handOut,
  maxFlights,
  type SenderState,
  stalledOf,
} from './flights.ts'

const maxStrangers = 5

/** Looks after what is under way until nothing is. */
export async function watch(state: SenderState): Promise<void> {
  if (state.isWatching) return
  state.isWatching = true
  while (state.flights.size > 0) {
    // A chain that does not answer is asked again.
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

/** Ends all that is under way: callers send again, and nonces are read from the chain anew. */
function giveUp({ flights }: SenderState, reason: Error): void {
  const all = [...flights.values()]
  flights.clear()
  for (const flight of all) flight.reject(reason)
}

/** Settles a flight whose nonce is used. */
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

/** Sends a flight again, so that it is there, with fees that make it worth taking. */
async function replace(state: SenderState, flight: Flight): Promise<void> {
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
async function fillUpTo(state: SenderState, first: number, lowest: number): Promise<void> {
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

import { parseGwei } from 'viem'
import { toChainError } from '../../lib/chain/chain-error.ts'
import type { ChainWriter } from '../../lib/chain/clients.ts'
import { feeOf } from '../../lib/chain/fees.ts'
import type { FlightNews, FlightStore } from '../../lib/chain/flight.ts'
import type { Sending } from '../../lib/chain/send.ts'
import { createSender, type Sender } from '../../lib/chain/sender.ts'
import { systemClock } from '../../lib/system.ts'
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { gweiText } from './gwei-text.ts'

/** The gas that a transaction used, and its price in wei, undefined where the RPC does not say. */
export type Spent = { readonly gas: bigint; readonly wei: bigint | undefined }

/** How a node sends: where it keeps its transactions, how much they may cost, and what it logs of them. */
export type SendOptions = {
  readonly store: FlightStore
  readonly maxFeeGwei: Config['max_fee_gwei']
  readonly log: Pick<Log, 'info' | 'warning'>
  /** Milliseconds without progress after which fees are raised; 15 s by default. */
  readonly stuckMs?: number
  /** How long a transaction in a block is watched; 2 minutes by default. */
  readonly settleMs?: number
  /** Called for each transaction that got into a block, reverted and empty ones included. */
  readonly onSpent?: ((spent: Spent) => void) | undefined
  /** Ends the watch of what is under way. */
  readonly signal: AbortSignal
}

/** Adds a sender to a client, which continues with the transactions that an earlier process left. */
export function sendingWith(
  writer: ChainWriter,
  { store, maxFeeGwei, log, signal, onSpent, stuckMs = 15_000, settleMs = 120_000 }: SendOptions,
): Sending & { readonly sender: Sender } {
  const tell = logOf(log)
  const onNews = (news: FlightNews) => {
    tell(news)
    const { receipt } = news
    if (receipt === undefined) return
    const { gasUsed: gas } = receipt
    // The type does not say that receipts of some RPCs lack it.
    const price: bigint | null = receipt.effectiveGasPrice
    onSpent?.({ gas, wei: price === null ? undefined : gas * price })
  }
  const patience = {
    pollMs: writer.publicClient.pollingInterval,
    mostWei: maxFeeGwei === undefined ? undefined : parseGwei(String(maxFeeGwei)),
    ...{ stuckMs, settleMs, signal, onNews },
  }
  return { ...writer, sender: createSender(writer, systemClock, patience, store) }
}

/** Logs what happens to transactions, each thing once in a row. */
function logOf(log: SendOptions['log']): (news: FlightNews) => void {
  const told = new Map<number, string>()
  return (news) => {
    const { nonce } = news.flight
    const text = textOf(news)
    const before = told.get(nonce)
    if (news.kind === 'landed') {
      told.delete(nonce)
      if (before !== undefined) log.info(text)
    } else if (before !== text) {
      told.set(nonce, text)
      log.warning(text)
    }
  }
}

function textOf({ kind, flight, why }: FlightNews): string {
  const name = `Transaction ${flight.nonce} (${flight.call})`
  const fee = gweiText(feeOf(flight.fees))
  if (kind === 'busy')
    return `${name}: the chain RPC does not take it now, sending the same again: ${whyText(why)}`
  if (kind === 'replaced') return `${name} is in no block: sent again with a fee of up to ${fee}`
  if (kind === 'cancelled')
    return `${name} is in no block and not needed: replaced by an empty transfer with a fee of up to ${fee}`
  if (kind === 'limit')
    return `${name} is in no block, and its fee of up to ${fee} is at the limit: it waits. ${flight.mostWei === undefined ? '' : 'register_up_to or '}max_fee_gwei sets the limit`
  if (kind === 'removed')
    return `A reorganisation of the chain removed transaction ${flight.nonce} (${flight.call}) from its block: sent again`
  if (kind === 'refused') return `${name} cannot be sent again: ${whyText(why)}`
  return `${name} is in a block`
}

const whyText = (why: unknown): string =>
  toChainError(why, 'sending').message.replace(/^sending: /, '')

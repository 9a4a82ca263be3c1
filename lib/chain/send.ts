import {
  type Abi,
  BaseError,
  getContractError,
  type Hex,
  keccak256,
  type TransactionReceipt,
} from 'viem'
import { elapsedSince } from '../clock.ts'
import { systemClock } from '../system.ts'
import { abortable } from './abortable.ts'
import { type Broadcast, broadcast, retryAfterMs } from './broadcast.ts'
import { isFeeTooLow, isNonceTaken, lacksFunds } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'
import { currentFees, type Fees, signWith } from './fees.ts'
import { waitForReceipt } from './wait-for-receipt.ts'
import { isWalletAccount, type WalletAccount } from './wallet-account.ts'

/** An encoded contract call, with the ABI that names its errors. */
export type ContractCall = {
  readonly to: Hex
  readonly data: Hex
  readonly abi: Abi
  readonly functionName: string
  /** Wei to send along; none when left out. */
  readonly value?: bigint
  /** The most that a sender may pay for a unit of gas, in wei, also after a restart. */
  readonly mostWei?: bigint
  /** Whether the call is of no use after its caller's signal: a sender may then put an empty transfer in its place. */
  readonly isOnlyForNow?: boolean
}

/** Sends by the sender, where there is one, which raises fees and fills nonces. Else calls wait as they were signed. */
export type Sending = ChainWriter & {
  readonly sender?: {
    send(call: ContractCall, urgency: 'result', signal?: AbortSignal): Promise<TransactionReceipt>
  }
}

/** Decodes a viem error by the call's ABI. */
const explained = (error: unknown, { abi, to, functionName }: ContractCall): Error =>
  getContractError(error as BaseError, { abi, address: to, args: [], functionName })

/** Estimates a call's gas and adds a fifth. Throws the revert that the call would cause, without paying or using a nonce. */
export const estimateCall = async (
  { publicClient, walletClient }: ChainWriter,
  call: ContractCall,
  signal?: AbortSignal,
): Promise<bigint> => {
  const { to, data, value = 0n } = call
  const estimate = publicClient
    .estimateGas({ account: walletClient.account, to, data, value })
    .catch((error: unknown) => {
      throw explained(error, call)
    })
  return ((await abortable(estimate, signal)) * 12n) / 10n
}

/** Finds out why a call in a block failed, which its receipt does not say: repeats it on that block's state, which mostly shows it. */
export const failedReceipt = async (
  { publicClient, walletClient }: ChainWriter,
  call: ContractCall,
  gas: bigint,
  { blockNumber }: TransactionReceipt,
  signal?: AbortSignal,
): Promise<Error> => {
  const { to, data, value = 0n } = call
  const account = walletClient.account
  try {
    await abortable(publicClient.call({ account, to, data, gas, value, blockNumber }), signal)
  } catch (error) {
    signal?.throwIfAborted()
    return explained(error, call)
  }
  return explained(new BaseError(`execution reverted in block ${blockNumber}`), call)
}

/**
 * Sends a call with a fifth more gas than estimated and waits until it is in a block. Throws viem errors, reverts included. It signs a call
 * with another nonce only after the chain refused the first: when a response is lost, it looks the same bytes up by their hash and sends
 * them again. The signal ends the wait, not the transaction.
 */
export const sendCall = async (
  writer: Sending,
  call: ContractCall,
  signal?: AbortSignal,
): Promise<TransactionReceipt> => {
  if (writer.sender) return await writer.sender.send(call, 'result', signal)
  const { account } = writer.walletClient
  const isWallet = isWalletAccount(account)
  const ahead = isWallet ? undefined : readAhead(writer)
  const gas = await estimateCall(writer, call, signal)
  const receipt = await (isWallet
    ? sendByWallet(writer, account, call, gas, signal)
    : sendSigned(writer, call, gas, signal, ahead))
  if (receipt.status === 'success') return receipt
  throw await failedReceipt(writer, call, gas, receipt, signal)
}

/** Leaves nonce, fees, signature and sending to a wallet. */
const sendByWallet = async (
  writer: ChainWriter,
  account: WalletAccount,
  { to, data, value = 0n }: ContractCall,
  gas: bigint,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  const sent = account.send({ chainId: writer.walletClient.chain.id, to, data, gas, value })
  return await waitForReceipt(writer, await abortable(sent, signal), { signal })
}

const sendAttempts = 6
const sendPauseMs = 200

/** Fees and the count of nonces, read in the same turn as the estimate. */
type Ahead = { readonly fees: Promise<Fees>; readonly count: Promise<number> }

function readAhead(writer: ChainWriter): Ahead {
  const { address } = writer.walletClient.account
  const fees = currentFees(writer)
  const count = writer.publicClient.getTransactionCount({ address, blockTag: 'pending' })
  // The estimate may fail first.
  for (const read of [fees, count]) read.catch(() => {})
  return { fees, count }
}

/** Signs and sends again when another process used the nonce, or the gas price rose: a transaction refused for these was never sent. */
const sendSigned = async (
  writer: ChainWriter,
  call: ContractCall,
  gas: bigint,
  signal: AbortSignal | undefined,
  first: Ahead | undefined,
): Promise<TransactionReceipt> => {
  for (let attempt = 1; ; attempt++) {
    try {
      const ahead = (attempt === 1 ? first : undefined) ?? readAhead(writer)
      const sent = await abortable(signAndBroadcast(writer, call, gas, ahead, signal), signal)
      return await landed(writer, sent, signal)
    } catch (error) {
      // This nonce may be unused, so the next one is read from the chain again.
      writer.nonces.reset()
      if (!(isNonceTaken(error) || isFeeTooLow(error)) || attempt === sendAttempts) throw error
    }
    await systemClock.sleep(sendPauseMs, signal)
  }
}

/** A signed transaction that the chain has or may have. */
type Sent = { readonly raw: Hex; readonly first: Broadcast }

const signAndBroadcast = async (
  writer: ChainWriter,
  { to, data, value = 0n }: ContractCall,
  gas: bigint,
  ahead: Ahead,
  signal: AbortSignal | undefined,
): Promise<Sent> => {
  const [fees, count] = await Promise.all([ahead.fees, ahead.count])
  signal?.throwIfAborted()
  // The last step before signing, because an unused nonce blocks the transactions after it.
  const nonce = writer.nonces.take(count)
  const raw = await signWith(writer, { to, data, gas, value, nonce }, fees)
  return { raw, first: await broadcast(writer, raw) }
}

const landMs = 120_000
/** When to send the same bytes again, which a chain may have lost meanwhile. */
const againAfterMs = { unknown: 1_000, sent: 10_000 } as const

/** Waits until a transaction is in a block, and rebroadcasts it meanwhile. */
const landed = async (
  writer: ChainWriter,
  { raw, first }: Sent,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  const hash = keccak256(raw)
  const beganAt = systemClock.monotonic()
  for (let last = first; ; ) {
    const why = last.state === 'unknown' ? last.why : undefined
    const timeoutMs = retryAfterMs(why) ?? againAfterMs[last.state]
    try {
      return await waitForReceipt(writer, hash, { signal, timeoutMs })
    } catch (error) {
      signal?.throwIfAborted()
      // The chain may have the transaction, so errors of the RPC do not end the wait.
      if (elapsedSince(systemClock, beganAt) > landMs) throw why ?? error
    }
    await systemClock.sleep(sendPauseMs, signal)
    try {
      last = await abortable(broadcast(writer, raw), signal)
    } catch (error) {
      if (signal?.aborted || isRefused(error)) throw error
    }
  }
}

/** True when the chain refused a transaction that it does not have. */
const isRefused = (error: unknown): boolean =>
  isNonceTaken(error) || isFeeTooLow(error) || lacksFunds(error)

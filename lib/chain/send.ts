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
import { broadcast } from './broadcast.ts'
import { isFeeTooLow, isNonceTaken, lacksFunds } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'
import { currentFees, signWith } from './fees.ts'
import { waitForReceipt } from './wait-for-receipt.ts'
import { isWalletAccount } from './wallet-account.ts'

/** A contract call, encoded, with the ABI that names its errors. */
export type ContractCall = {
  readonly to: Hex
  readonly data: Hex
  readonly abi: Abi
  readonly functionName: string
  /** Wei to send along; none when left out. */
  readonly value?: bigint
}

/** What a viem error means in a call's own words. */
const explained = (error: unknown, { abi, to, functionName }: ContractCall): Error =>
  getContractError(error as BaseError, { abi, address: to, args: [], functionName })

/** A fifth more gas than a call takes now; throws what it would revert with, which costs nothing and uses no nonce. */
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

/** Why a call failed that got into a block: a receipt does not say; the same call again, on the state that it met, mostly does. */
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
 * Sends a call with a fifth more gas than estimated and waits until it is in a block; throws viem errors, a revert included. What
 * was signed is never signed again with another nonce unless the chain refused it: when a response is lost, the same bytes are
 * looked up by their hash and sent once more. The signal ends the wait, not the transaction.
 */
export const sendCall = async (
  writer: ChainWriter,
  call: ContractCall,
  signal?: AbortSignal,
): Promise<TransactionReceipt> => {
  const gas = await estimateCall(writer, call, signal)
  const receipt = await (isWalletAccount(writer.walletClient.account)
    ? sendByWallet(writer, call, gas, signal)
    : sendSigned(writer, call, gas, signal))
  if (receipt.status === 'success') return receipt
  throw await failedReceipt(writer, call, gas, receipt, signal)
}

/** Leaves nonce, fees and signature to a wallet, which sends it itself. */
const sendByWallet = async (
  writer: ChainWriter,
  { to, data, value = 0n }: ContractCall,
  gas: bigint,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  const sent = writer.walletClient.sendTransaction({ to, data, gas, value })
  return await waitForReceipt(writer, await abortable(sent, signal), { signal })
}

const sendAttempts = 6
const sendPauseMs = 200

/** Sends again when another process of the same wallet has used the nonce, or the gas price rose: what was refused so was never sent. */
const sendSigned = async (
  writer: ChainWriter,
  call: ContractCall,
  gas: bigint,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  for (let attempt = 1; ; attempt++) {
    try {
      const sent = await abortable(signAndBroadcast(writer, call, gas, signal), signal)
      return await landed(writer, sent, signal)
    } catch (error) {
      // The next nonce is the chain's again: this one may be open.
      writer.nonceManager.reset(ownNonces(writer))
      if (!(isNonceTaken(error) || isFeeTooLow(error)) || attempt === sendAttempts) throw error
    }
    await systemClock.sleep(sendPauseMs, signal)
  }
}

/** A signed transaction that was handed to the chain, which may have it or has it. */
type Sent = { readonly raw: Hex; readonly state: 'sent' | 'unknown' }

const signAndBroadcast = async (
  writer: ChainWriter,
  { to, data, value = 0n }: ContractCall,
  gas: bigint,
  signal: AbortSignal | undefined,
): Promise<Sent> => {
  const fees = await currentFees(writer)
  signal?.throwIfAborted()
  // Last of all: a nonce that was taken and is not used yet holds up the transactions after it.
  const nonce = await writer.nonceManager.consume({
    ...ownNonces(writer),
    client: writer.publicClient,
  })
  const raw = await signWith(writer, { to, data, gas, value, nonce }, fees)
  return { raw, state: await broadcast(writer, raw) }
}

const ownNonces = ({ walletClient: { account, chain } }: ChainWriter) => ({
  address: account.address,
  chainId: chain.id,
})

const landMs = 120_000
/** When to send the same bytes once more: a chain that took them may have lost them by then. */
const againAfterMs = { unknown: 1_000, sent: 10_000 } as const

/** Waits until a transaction is in a block, and sends its bytes again from time to time. */
const landed = async (
  writer: ChainWriter,
  { raw, state: first }: Sent,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  const hash = keccak256(raw)
  const beganAt = systemClock.monotonic()
  for (let state = first; ; ) {
    try {
      return await waitForReceipt(writer, hash, { signal, timeoutMs: againAfterMs[state] })
    } catch (error) {
      signal?.throwIfAborted()
      // The chain may have it: trouble with the RPC is no reason to give it up.
      if (elapsedSince(systemClock, beganAt) > landMs) throw error
    }
    await systemClock.sleep(sendPauseMs, signal)
    try {
      state = await abortable(broadcast(writer, raw), signal)
    } catch (error) {
      if (signal?.aborted || isRefused(error)) throw error
    }
  }
}

/** Whether the chain refused a transaction that it does not have. */
const isRefused = (error: unknown): boolean =>
  isNonceTaken(error) || isFeeTooLow(error) || lacksFunds(error)

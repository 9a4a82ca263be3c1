import { type Abi, BaseError, getContractError, type Hex, type TransactionReceipt } from 'viem'
import { systemClock } from '../system.ts'
import { abortable } from './abortable.ts'
import { isFeeTooLow, isNonceTaken } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'
import { waitForReceipt } from './wait-for-receipt.ts'

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

/** Sends a call with a fifth more gas than estimated and waits until it is in a block; throws viem errors, a revert included. */
export const sendCall = async (
  writer: ChainWriter,
  call: ContractCall,
  signal?: AbortSignal,
): Promise<TransactionReceipt> => {
  const { walletClient } = writer
  const { to, data, value = 0n } = call
  const gas = await estimateCall(writer, call, signal)
  const hash = await sendOnce(
    () => abortable(walletClient.sendTransaction({ to, data, gas, value }), signal),
    signal,
  )
  const receipt = await waitForReceipt(writer, hash, { signal })
  if (receipt.status === 'success') return receipt
  throw await failedReceipt(writer, call, gas, receipt, signal)
}

const sendAttempts = 6
const sendPauseMs = 200

/** Sends again when another process of the same wallet has used the nonce, or the gas price rose: what was refused so was never sent. */
const sendOnce = async (
  send: () => Promise<Hex>,
  signal: AbortSignal | undefined,
): Promise<Hex> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      if (!(isNonceTaken(error) || isFeeTooLow(error)) || attempt === sendAttempts) throw error
    }
    await systemClock.sleep(sendPauseMs, signal)
  }
}

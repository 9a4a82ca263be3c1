import {
  type Abi,
  BaseError,
  getContractError,
  type Hex,
  NonceTooLowError,
  type TransactionReceipt,
} from 'viem'
import { abortable } from './abortable.ts'
import { causesOf } from './chain-error.ts'
import type { ChainWriter } from './clients.ts'

const receiptTimeoutMs = 120_000

/** A contract call, encoded, with the ABI that names its errors. */
export type ContractCall = {
  readonly to: Hex
  readonly data: Hex
  readonly abi: Abi
  readonly functionName: string
}

/** Sends a call with a fifth more gas than estimated and waits until it is in a block; throws viem errors, a revert included. */
export const sendCall = async (
  { publicClient, walletClient }: ChainWriter,
  { to, data, abi, functionName }: ContractCall,
  signal?: AbortSignal,
): Promise<TransactionReceipt> => {
  const account = walletClient.account
  const explained = (error: unknown) =>
    getContractError(error as BaseError, { abi, address: to, args: [], functionName })
  // A call that would revert fails here already: it costs nothing and uses no nonce.
  const estimate = publicClient.estimateGas({ account, to, data }).catch((error: unknown) => {
    throw explained(error)
  })
  const gas = ((await abortable(estimate, signal)) * 12n) / 10n
  const hash = await sendOnce(() =>
    abortable(walletClient.sendTransaction({ to, data, gas }), signal),
  )
  const waiting = publicClient.waitForTransactionReceipt({ hash, timeout: receiptTimeoutMs })
  const receipt = await abortable(waiting, signal)
  if (receipt.status === 'success') return receipt
  // A receipt does not say why; the same call again, on the state that it met, mostly does.
  const { blockNumber } = receipt
  const replay = publicClient.call({ account, to, data, gas, blockNumber })
  await abortable(replay, signal).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw explained(error)
  })
  throw explained(new BaseError(`execution reverted in block ${blockNumber}`))
}

const sendAttempts = 5

/** Sends again when another process of the same wallet has used the nonce: what was refused so was never sent. */
const sendOnce = async (send: () => Promise<Hex>): Promise<Hex> => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await send()
    } catch (error) {
      const isTaken = causesOf(error).some((cause) => cause instanceof NonceTooLowError)
      if (!isTaken || attempt === sendAttempts) throw error
    }
  }
}

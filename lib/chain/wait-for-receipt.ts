import {
  type Hex,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  WaitForTransactionReceiptTimeoutError,
} from 'viem'
import { elapsedSince } from '../clock.ts'
import { systemClock } from '../system.ts'
import { abortable } from './abortable.ts'
import type { ChainReader } from './clients.ts'

const defaultTimeoutMs = 120_000

/** How long to wait. `confirmations` counts the block with the transaction. */
export type ReceiptOptions = {
  readonly confirmations?: number
  readonly timeoutMs?: number
  readonly signal?: AbortSignal | undefined
}

/**
 * Waits until a transaction is in a block, successful or not. Throws viem errors, its timeout's included. viem's own wait polls only at the
 * next block, which never comes on a chain that makes one for each transaction, if the first poll was too early.
 */
export async function waitForReceipt(
  { publicClient }: ChainReader,
  hash: Hex,
  { confirmations = 1, timeoutMs = defaultTimeoutMs, signal }: ReceiptOptions = {},
): Promise<TransactionReceipt> {
  const beganAt = systemClock.monotonic()
  for (;;) {
    const receipt = await abortable(find({ publicClient }, hash), signal)
    if (receipt !== undefined) {
      if (confirmations <= 1) return receipt
      const newest = await abortable(publicClient.getBlockNumber(), signal)
      if (newest - receipt.blockNumber + 1n >= BigInt(confirmations)) return receipt
    }
    if (elapsedSince(systemClock, beganAt) > timeoutMs)
      throw new WaitForTransactionReceiptTimeoutError({ hash })
    await systemClock.sleep(publicClient.pollingInterval, signal)
  }
}

const find = ({ publicClient }: ChainReader, hash: Hex): Promise<TransactionReceipt | undefined> =>
  publicClient.getTransactionReceipt({ hash }).catch((error: unknown) => {
    if (error instanceof TransactionReceiptNotFoundError) return undefined
    throw error
  })

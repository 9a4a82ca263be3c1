import { type Hex, keccak256, TransactionNotFoundError } from 'viem'
import { systemClock } from '../system.ts'
import {
  causesOf,
  isAlreadyKnown,
  isNonceTaken,
  isRateLimited,
  isUnreachable,
} from './chain-error.ts'
import type { ChainReader } from './clients.ts'

const looks = 3
const lookPauseMs = 200

/**
 * Hands a signed transaction to the chain. Resolves to `unknown` when the response was lost and the chain does not show the
 * transaction: it may arrive yet, so only these same bytes may be sent again. Throws the viem error of a transaction that was
 * refused and is not on the chain either: a proxy that repeats a request gets a refusal of what the first one brought.
 */
export async function broadcast(chain: ChainReader, raw: Hex): Promise<'sent' | 'unknown'> {
  try {
    await chain.publicClient.sendRawTransaction({ serializedTransaction: raw })
    return 'sent'
  } catch (error) {
    if (isAlreadyKnown(error)) return 'sent'
    const isLost = isUnreachable(error) && !isRateLimited(error)
    if (!isLost && !isNonceTaken(error) && !isRateLimited(error)) throw error
    const isThere = await isOnChain(chain, keccak256(raw), isNonceTaken(error) ? looks : 1)
    if (isThere) return 'sent'
    // Without a look, a nonce that is taken may be taken by this very transaction.
    if (isLost || (isThere === undefined && isNonceTaken(error))) return 'unknown'
    throw error
  }
}

/** Whether the chain has a transaction, in a block or waiting for one; undefined when it does not say. */
async function isOnChain(
  { publicClient }: ChainReader,
  hash: Hex,
  times: number,
): Promise<boolean | undefined> {
  for (let look = 1; ; look++) {
    try {
      await publicClient.getTransaction({ hash })
      return true
    } catch (error) {
      if (!causesOf(error).some((cause) => cause instanceof TransactionNotFoundError)) {
        return undefined
      }
    }
    if (look === times) return false
    // The servers behind one RPC do not learn of a transaction at the same moment.
    await systemClock.sleep(lookPauseMs)
  }
}

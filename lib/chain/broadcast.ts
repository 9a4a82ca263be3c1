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
 * Sends a signed transaction. Returns `unknown` when the response was lost and the chain does not show the transaction. It may still
 * arrive, so only the same bytes may be sent again. Throws the viem error of a transaction that was refused and is not on chain either,
 * because a proxy that repeats a request gets a refusal of the first one's transaction.
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
    // If the chain cannot be asked, this very transaction may have used the nonce.
    if (isLost || (isThere === undefined && isNonceTaken(error))) return 'unknown'
    throw error
  }
}

/** True when the chain has a transaction, mined or pending; undefined when it does not answer. */
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
    // The servers behind one RPC see a transaction at different times.
    await systemClock.sleep(lookPauseMs)
  }
}

import { type Hex, HttpRequestError, keccak256, TransactionNotFoundError } from 'viem'
import { systemClock } from '../system.ts'
import { causesOf, isAlreadyKnown, isNonceTaken, isPassingRefusal } from './chain-error.ts'
import type { ChainReader } from './clients.ts'

const looks = 3
const lookPauseMs = 200

/** What came of a broadcast. `unknown`: for the reason `why`, only the same bytes may be sent again. */
export type Broadcast =
  | { readonly state: 'sent' }
  | { readonly state: 'unknown'; readonly why: unknown }

/**
 * Sends a signed transaction. The outcome is unknown when the response was lost, or the RPC is busy or fails inside, and the chain does not
 * show the transaction. Throws the viem error of a transaction that was refused and is not on chain either: an RPC may respond with an error
 * though it took the transaction, and a proxy that repeats a request gets a refusal of the first one's transaction.
 */
export async function broadcast(chain: ChainReader, raw: Hex): Promise<Broadcast> {
  try {
    await chain.publicClient.sendRawTransaction({ serializedTransaction: raw })
    return { state: 'sent' }
  } catch (error) {
    if (isAlreadyKnown(error)) return { state: 'sent' }
    const isTaken = isNonceTaken(error)
    const isThere = await isOnChain(chain, keccak256(raw), isTaken ? looks : 1)
    if (isThere) return { state: 'sent' }
    // If the chain cannot be asked, this very transaction may have used the nonce.
    if (isTaken ? isThere === undefined : isPassingRefusal(error)) {
      return { state: 'unknown', why: error }
    }
    throw error
  }
}

const mostRetryMs = 30_000

/** After how many milliseconds an RPC that limits requests wants the next one; undefined when it does not say. */
export function retryAfterMs(error: unknown): number | undefined {
  const limited = causesOf(error).find((cause) => cause instanceof HttpRequestError)
  const seconds = limited?.headers?.get('retry-after') ?? ''
  return /^\d+$/.test(seconds) ? Math.min(Number(seconds) * 1000, mostRetryMs) : undefined
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

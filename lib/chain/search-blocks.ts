import { HttpRequestError, RpcRequestError } from 'viem'
import { causesOf, isRateLimited } from './chain-error.ts'
import type { ChainReader } from './clients.ts'

const mostBlocks = 5_000n
// What belongs to a job happens within the hour in which its key was stored.
const searchedSeconds = 86_400n
const mostRounds = 2_000
const aboutRange = /range|blocks|results|logs|too (large|wide|many)|limited to/i

/** Blocks, both ends included. */
export type BlockRange = { readonly fromBlock: bigint; readonly toBlock: bigint | 'latest' }

/**
 * Searches the blocks of a day from `first` on, the oldest first, until something is found. RPC servers limit how many blocks they search
 * at once: a range that is refused is halved. Gives up after 2,000 ranges. Throws what `search` and viem throw, and the signal's reason.
 */
export async function searchBlocks<T>(
  { publicClient }: ChainReader,
  first: bigint,
  search: (range: BlockRange) => Promise<T | undefined>,
  signal?: AbortSignal,
): Promise<T | undefined> {
  const latest = await publicClient.getBlockNumber({ cacheTime: 0 })
  const timeOf = async (blockNumber: bigint) =>
    (await publicClient.getBlock({ blockNumber })).timestamp
  let endsAt: bigint | undefined
  let size = mostBlocks
  let fromBlock = first
  let refusal: unknown
  for (let round = 0; round < mostRounds; round++) {
    signal?.throwIfAborted()
    const last = fromBlock + size - 1n
    try {
      const found = await search({ fromBlock, toBlock: last < latest ? last : 'latest' })
      if (found !== undefined || last >= latest) return found
    } catch (error) {
      if (size === 1n || !isRangeRefused(error)) throw error
      refusal = error
      size /= 2n
      continue
    }
    endsAt ??= (await timeOf(first)) + searchedSeconds
    if ((await timeOf(last)) > endsAt) return undefined
    fromBlock = last + 1n
  }
  throw refusal
}

/** Whether the RPC answered that it does not search so many blocks. */
export const isRangeRefused = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      (cause instanceof RpcRequestError && aboutRange.test(cause.details)) ||
      (cause instanceof HttpRequestError && !isRateLimited(cause) && (cause.status ?? 500) < 500),
  )

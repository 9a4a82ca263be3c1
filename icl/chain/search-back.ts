import { type BlockRange, isRangeRefused } from '../../lib/chain/search-blocks.ts'

const blocksAtOnce = 5_000n
const mostRounds = 2_000

/** Searches blocks from the latest back to the first, in parts, until something is found. Halves a part that an endpoint refuses as too long. */
export async function searchBack<T>(
  { first, latest }: { readonly first: bigint; readonly latest: bigint },
  search: (range: BlockRange) => Promise<T | undefined>,
): Promise<T | undefined> {
  let toBlock = latest
  let size = blocksAtOnce
  for (let round = 0; round < mostRounds && toBlock >= first; round++) {
    const oldest = toBlock - size + 1n
    const fromBlock = oldest > first ? oldest : first
    try {
      const found = await search({ fromBlock, toBlock })
      if (found !== undefined) return found
      toBlock = fromBlock - 1n
    } catch (error) {
      if (size === 1n || !isRangeRefused(error)) throw error
      size /= 2n
    }
  }
  return undefined
}

/** What to do about an event that an RPC server does not show. */
export const missingEvent = {
  hint: 'The RPC server may lag behind, or may not keep events that long. Nothing is lost.',
  retryable: true,
} as const

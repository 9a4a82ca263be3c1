import { RpcRequestError } from 'viem'
import { expect, it } from 'vitest'
import type { ChainReader } from '../../../lib/chain/clients.ts'
import { searchBlocks } from '../../../lib/chain/search-blocks.ts'

const publicClient = {
  getBlockNumber: async () => 1_000_000n,
  getBlock: async () => ({ timestamp: 0n }),
}
const chain = { publicClient } as unknown as ChainReader

/** Counts the rounds of a search whose RPC fails with a message, for ranges over `most` blocks. */
async function roundsOf(message: string, most: bigint, signal?: AbortSignal): Promise<number> {
  let rounds = 0
  const search = async ({
    fromBlock,
    toBlock,
  }: {
    fromBlock: bigint
    toBlock: bigint | 'latest'
  }) => {
    rounds++
    const size = toBlock === 'latest' ? 0n : toBlock - fromBlock + 1n
    if (size <= most) return undefined
    throw new RpcRequestError({ body: {}, error: { code: -32_603, message }, url: 'http://rpc' })
  }
  await expect(searchBlocks(chain, 1n, search, signal)).rejects.toThrow()
  return rounds
}

it('a search is not split for an RPC that fails or limits calls, and its number of rounds is bounded', async () => {
  expect(await roundsOf('internal error', 0n)).toBe(1)
  expect(await roundsOf('rate limit exceeded', 0n)).toBe(1)
  expect(await roundsOf('query exceeds max block range 100', 100n)).toBe(2_000)
  expect(await roundsOf('query exceeds max block range 100', 100n, AbortSignal.abort())).toBe(0)
})

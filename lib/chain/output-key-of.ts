import type { Hex } from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import { Address } from '../codecs.ts'
import type { ChainReader } from './clients.ts'
import { type BlockRange, searchBlocks } from './search-blocks.ts'

/** An output key's origin and readers. */
export type OutputKey = {
  /** The high handle of the prompt key whose list has its node and its readers. */
  readonly promptHighHandle: bigint
  /** The position on that list of the node that stored it. */
  readonly self: number
  /** All other accounts that may read it. */
  readonly readers: readonly Address[]
}

/** Reads an output key that was stored in a block or in the day after it, from events; undefined when there is none. Throws what viem throws. */
export const outputKeyOf = (
  chain: ChainReader,
  promptKeyStore: Hex,
  [highHandle, lowHandle]: readonly [bigint, bigint],
  fromBlock: bigint,
  signal?: AbortSignal,
): Promise<OutputKey | undefined> => {
  const search = async (range: BlockRange) => {
    const { publicClient } = chain
    const about = {
      ...{ address: promptKeyStore, abi: promptKeyStoreAbi, args: { highHandle } },
      ...{ strict: true as const, ...range },
    }
    // One transaction stores the key and names its readers, for good.
    const [[stored], granted] = await Promise.all([
      publicClient.getContractEvents({ ...about, eventName: 'OutputKeyStored' }),
      publicClient.getContractEvents({ ...about, eventName: 'AccessGranted' }),
    ])
    if (!stored || !granted.some(({ args }) => args.lowHandle === lowHandle)) return undefined
    return {
      promptHighHandle: stored.args.promptHighHandle,
      self: stored.args.self,
      readers: granted.map(({ args }) => Address.parse(args.reader)),
    }
  }
  return searchBlocks(chain, fromBlock, search, signal)
}

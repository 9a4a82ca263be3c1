import type { Hex } from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import { Address } from '../codecs.ts'
import type { ChainReader } from './clients.ts'

/** Where an output key comes from, and who can read it. */
export type OutputKey = {
  /** The high half of the prompt key whose list its node and its readers come from. */
  readonly promptHighHandle: bigint
  /** The position on that list of the node that stored it. */
  readonly self: number
  /** All that it was opened to besides. */
  readonly readers: readonly Address[]
}

/** An output key that was stored in a block or later, by its events; undefined when there is none. Throws what viem throws. */
export async function outputKeyOf(
  { publicClient }: ChainReader,
  promptKeyStore: Hex,
  [highHandle, lowHandle]: readonly [bigint, bigint],
  fromBlock: bigint,
): Promise<OutputKey | undefined> {
  const about = {
    address: promptKeyStore,
    abi: promptKeyStoreAbi,
    args: { highHandle },
    fromBlock,
    toBlock: 'latest',
    strict: true,
  } as const
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

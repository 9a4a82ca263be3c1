import { BlockNotFoundError } from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import type { Address, Hash32 } from '../codecs.ts'
import type { BlockId } from '../schemas/list.ts'
import { causesOf } from './chain-error.ts'
import { chainHash } from './chain-hash.ts'
import type { ChainReader } from './clients.ts'

/** A prompt key as its owner stored it in a block. */
export type StoredKey = {
  readonly termsHash: Hash32
  readonly block: BlockId
  /** The block's time, Unix seconds. */
  readonly storedAt: number
}

/** Reads the key of `owner` whose KeyStored event is in this block of the canonical chain; undefined when there is none. Throws what viem throws. */
export async function storedKeyAt(
  { publicClient }: ChainReader,
  promptKeyStore: Address,
  owner: Address,
  [high, low]: readonly [bigint, bigint],
  blockNumber: bigint,
): Promise<StoredKey | undefined> {
  const block = await publicClient.getBlock({ blockNumber }).catch((error: unknown) => {
    if (causesOf(error).some((cause) => cause instanceof BlockNotFoundError)) return undefined
    throw error
  })
  if (!block) return undefined
  const logs = await publicClient.getContractEvents({
    address: promptKeyStore,
    abi: promptKeyStoreAbi,
    eventName: 'KeyStored',
    args: { owner, highHandle: high, lowHandle: low },
    fromBlock: blockNumber,
    toBlock: blockNumber,
    strict: true,
  })
  // Block and logs may come from two servers, one of which has seen a reorganisation.
  const log = logs.find(({ blockHash }) => blockHash === block.hash)
  if (!log) return undefined
  const doing = `reading block ${blockNumber}`
  return {
    termsHash: chainHash(log.args.terms, doing),
    block: { number: blockNumber, hash: chainHash(block.hash, doing) },
    storedAt: Number(block.timestamp),
  }
}

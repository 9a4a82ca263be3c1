import type { Hex } from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import type { Hash32 } from '../codecs.ts'
import type { ListTerms } from '../list-commitment.ts'
import { chainHash } from './chain-hash.ts'
import type { ChainReader, ChainWriter } from './clients.ts'
import type { EncryptedInput } from './encrypted-input.ts'
import {
  callOf,
  eventsOf,
  nothingDone,
  type Sent,
  sendToKeyStore,
  sentAs,
} from './key-store-call.ts'
import { type StoredKey, storedKeyOf } from './prompt-key-store.ts'
import { reading } from './reading.ts'
import { type BlockRange, searchBlocks } from './search-blocks.ts'
import type { Sending } from './send.ts'

/** A stored key of PromptKeyStore, and the wallet that calls. */
type KeyCall = ChainWriter & {
  /** Address of PromptKeyStore. */
  readonly contract: Hex
  readonly highHandle: bigint
  readonly lowHandle: bigint
  readonly signal?: AbortSignal
}

/** The state of a key's list on chain. */
export type KeyList = {
  /** `listCommitment` of the list; undefined before there is one, and final afterwards. */
  readonly commitment: Hash32 | undefined
  /** Bit i: the node at position i has access. */
  readonly used: number
  /** No further node gets access. */
  readonly ended: boolean
}

/** Binds a key to a job and its list, for good, and lets `mask` read it (bit i: `list[i]`); throws `commit-list-reverted` or a chain error. */
export const commitList = async (
  options: KeyCall & { readonly terms: ListTerms; readonly mask: number },
): Promise<Sent> => {
  const { contract, highHandle, lowHandle, mask, signal } = options
  const { jobId, list, activator, until } = options.terms
  const args = [highHandle, lowHandle, jobId, list, mask, activator, BigInt(until)] as const
  const call = callOf(contract, 'commit-list', 'commitList', args)
  const receipt = await sendToKeyStore(options, call, signal)
  if (!eventsOf(call, receipt).some(({ eventName }) => eventName === 'ListCommitted')) {
    throw nothingDone(call, 'no list was committed')
  }
  return sentAs(receipt)
}

/** Ends the list of the wallet's key: no further node gets access. Idempotent; throws `end-list-reverted` or a chain error. */
export const endList = async (options: KeyCall): Promise<Sent> => {
  const { contract, highHandle, lowHandle, signal } = options
  const call = callOf(contract, 'end-list', 'endList', [highHandle, lowHandle])
  return sentAs(await sendToKeyStore(options, call, signal))
}

/** Stores the output key of node `self`, readable by it, the prompt's owner and `mask`; throws `store-key-reverted` or a chain error. */
export const storeOutputKey = async (
  options: Sending & {
    /** Address of PromptKeyStore. */
    readonly contract: Hex
    readonly high: EncryptedInput
    readonly low: EncryptedInput
    readonly promptHighHandle: bigint
    /** The committed list of the prompt key. */
    readonly terms: ListTerms
    readonly self: number
    /** Bit i: `list[i]`, which must have access to the prompt key, may read the output. */
    readonly mask: number
    readonly signal?: AbortSignal
  },
): Promise<StoredKey> => {
  const { contract, high, low, promptHighHandle, self, mask, signal } = options
  const { jobId, list, activator, until } = options.terms
  const bound = [jobId, activator, BigInt(until), list, self, mask] as const
  const args = [high, low, promptHighHandle, ...bound] as const
  const call = callOf(contract, 'store-key', 'storeKey', args)
  const sent = sendToKeyStore(options, { ...call, isOnlyForNow: true }, signal)
  return storedKeyOf(call, await sent)
}

/** Reads the list of a key. Handles that are not one record read as a key without a list. Throws a chain error. */
export const listOf = async (
  { publicClient }: ChainReader,
  contract: Hex,
  highHandle: bigint,
  lowHandle: bigint,
  signal?: AbortSignal,
): Promise<KeyList> => {
  const doing = 'reading the list of a key'
  const read = publicClient.readContract({
    address: contract,
    abi: promptKeyStoreAbi,
    functionName: 'listOf',
    args: [highHandle, lowHandle],
  })
  const [commitment, used, ended] = await reading(doing, read, signal)
  const isNone = BigInt(commitment) === 0n
  return { commitment: isNone ? undefined : chainHash(commitment, doing), used, ended }
}

/** The members (by position) that the owner itself let read a key when it committed to its list, in a block or in the day after it; undefined where there is no list. Throws what viem throws. */
export async function firstReaders(
  chain: ChainReader,
  contract: Hex,
  [highHandle, lowHandle]: readonly [bigint, bigint],
  fromBlock: bigint,
  signal?: AbortSignal,
): Promise<number | undefined> {
  const search = async (range: BlockRange) => {
    const [event] = await chain.publicClient.getContractEvents({
      ...{ address: contract, abi: promptKeyStoreAbi, eventName: 'ListCommitted', ...range },
      ...{ args: { highHandle }, strict: true },
    })
    return event
  }
  const committed = await searchBlocks(chain, fromBlock, search, signal)
  return committed?.args.lowHandle === lowHandle ? committed.args.mask : undefined
}

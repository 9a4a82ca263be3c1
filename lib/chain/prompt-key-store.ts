import { type Hex, type TransactionReceipt, zeroAddress } from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import { Address, type Hash32 } from '../codecs.ts'
import type { ChainReader, ChainWriter } from './clients.ts'
import type { EncryptedInput } from './encrypted-input.ts'
import {
  callOf,
  eventsOf,
  type KeyStoreCall,
  nothingDone,
  type Sent,
  sendToKeyStore,
  sentAs,
} from './key-store-call.ts'
import { reading } from './reading.ts'

/** Both encrypted halves of a key, with the hash of its job's terms. */
export type StoreKeyOptions = ChainWriter & {
  /** Address of PromptKeyStore. */
  readonly contract: Hex
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly terms: Hash32
  readonly signal?: AbortSignal
}

/** The handles that the contract stored, not those that encryption returned (spec 2.4). */
export type StoredKey = Sent & { readonly highHandle: bigint; readonly lowHandle: bigint }

/** Returns the key that a transaction stored; throws `CODE-reverted` when it stored none. */
export const storedKeyOf = (call: KeyStoreCall, receipt: TransactionReceipt): StoredKey => {
  for (const event of eventsOf(call, receipt)) {
    if (event.eventName !== 'KeyStored') continue
    const { highHandle, lowHandle } = event.args
    return { highHandle, lowHandle, ...sentAs(receipt) }
  }
  throw nothingDone(call, 'no key was stored')
}

/** Stores a key on chain as one record; throws `store-key-reverted`, `chain-wallet-empty` or another chain error (spec 4, spec 7). */
export const storeKey = async (options: StoreKeyOptions): Promise<StoredKey> => {
  const { contract, high, low, terms, signal } = options
  const call = callOf(contract, 'store-key', 'storeKey', [high, low, terms])
  return storedKeyOf(call, await sendToKeyStore(options, call, signal))
}

/** Returns the owner of the key with these two handles; undefined when they are not one record. Throws a chain error. */
export const ownerOf = async (
  { publicClient }: ChainReader,
  contract: Hex,
  highHandle: bigint,
  lowHandle: bigint,
  signal?: AbortSignal,
): Promise<Address | undefined> => {
  const read = publicClient.readContract({
    address: contract,
    abi: promptKeyStoreAbi,
    functionName: 'ownerOf',
    args: [highHandle, lowHandle],
  })
  const owner = await reading('reading PromptKeyStore', read, signal)
  return owner === zeroAddress ? undefined : Address.parse(owner)
}

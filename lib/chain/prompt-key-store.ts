import { encodeFunctionData, type Hex, type TransactionReceipt, zeroAddress } from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import type { Hash32 } from '../codecs.ts'
import type { EncryptedInput } from '../coprocessor/coprocessor.ts'
import { abortable } from './abortable.ts'
import { toChainError } from './chain-error.ts'
import type { ChainReader, ChainWriter } from './clients.ts'
import {
  eventsOf,
  type KeyStoreCall,
  nothingDone,
  type Sent,
  sendToKeyStore,
  sentAs,
} from './key-store-call.ts'

/** Who may read a key besides its owner. */
type Readers = {
  /** At most 16 addresses that may decrypt the key, for good. */
  readonly readers?: readonly Hex[]
  /** Who may give up to `maxGrants` active nodes access until `until` (Unix seconds): all three, or none. */
  readonly delegate?: Hex
  readonly maxGrants?: number
  readonly until?: number
}

/** Both encrypted halves of a key, with the hash of its job's terms, or with those who may read it besides its owner. */
export type StoreKeyOptions = ChainWriter & {
  /** Address of PromptKeyStore. */
  readonly contract: Hex
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  readonly signal?: AbortSignal
} & (({ readonly terms?: undefined } & Readers) | { readonly terms: Hash32 })

/** The handles to hand out: those that the contract stored, not the ones that encryption gave (spec 2.4). */
export type StoredKey = Sent & { readonly highHandle: bigint; readonly lowHandle: bigint }

/** Who owns a key and what its delegate may still do. */
export type KeyRecord = {
  readonly owner: Hex
  readonly delegate: Hex
  readonly grantsLeft: number
  /** Unix seconds. */
  readonly until: number
}

const storeKeyData = (options: StoreKeyOptions): Hex => {
  const { high, low } = options
  const call = { abi: promptKeyStoreAbi, functionName: 'storeKey' } as const
  if (options.terms !== undefined) {
    return encodeFunctionData({ ...call, args: [high, low, options.terms] })
  }
  const { readers = [], delegate = zeroAddress, maxGrants = 0, until = 0 } = options
  const args = [high, low, readers, delegate, maxGrants, BigInt(until)] as const
  return encodeFunctionData({ ...call, args })
}

/** The key that a transaction stored; throws `CODE-reverted` when it stored none. */
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
  const { contract, signal } = options
  const data = storeKeyData(options)
  const call = { to: contract, data, functionName: 'storeKey', code: 'store-key' }
  return storedKeyOf(call, await sendToKeyStore(options, call, signal))
}

/** Gives `reader` access to a stored key for good; harmless when sent twice; throws `grant-access-reverted` or a chain error. */
export const grantAccess = async (
  options: ChainWriter & {
    readonly contract: Hex
    readonly highHandle: bigint
    readonly lowHandle: bigint
    readonly reader: Hex
    readonly signal?: AbortSignal
  },
): Promise<Sent> => {
  const data = encodeFunctionData({
    abi: promptKeyStoreAbi,
    functionName: 'grantAccess',
    args: [options.highHandle, options.lowHandle, options.reader],
  })
  const call = { to: options.contract, data, functionName: 'grantAccess', code: 'grant-access' }
  return sentAs(await sendToKeyStore(options, call, options.signal))
}

/** The record of two stored handles, undefined when they are not one record; throws a chain error. */
export const recordOf = async (
  { publicClient }: ChainReader,
  contract: Hex,
  highHandle: bigint,
  lowHandle: bigint,
  signal?: AbortSignal,
): Promise<KeyRecord | undefined> => {
  const read = publicClient.readContract({
    address: contract,
    abi: promptKeyStoreAbi,
    functionName: 'recordOf',
    args: [highHandle, lowHandle],
  })
  try {
    const [owner, delegate, grantsLeft, until] = await abortable(read, signal)
    if (owner === zeroAddress) return undefined
    const lower = (address: Hex) => address.toLowerCase() as Hex
    return { owner: lower(owner), delegate: lower(delegate), grantsLeft, until: Number(until) }
  } catch (error) {
    signal?.throwIfAborted()
    throw toChainError(error, 'reading the key record')
  }
}

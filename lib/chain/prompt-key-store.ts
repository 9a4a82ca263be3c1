import {
  encodeFunctionData,
  type Hex,
  parseEventLogs,
  type TransactionReceipt,
  zeroAddress,
} from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import { taskManagerAbi } from '../abi/task-manager.ts'
import type { EncryptedInput } from '../coprocessor/coprocessor.ts'
import { SvcError } from '../svc-error.ts'
import { abortable } from './abortable.ts'
import { isRevert, lacksFunds, revertNameOf, toChainError } from './chain-error.ts'
import type { ChainReader, ChainWriter } from './clients.ts'
import { sendCall } from './send.ts'

// The coprocessor's errors pass through the key store.
const abiWithCoprocessorErrors = [
  ...promptKeyStoreAbi,
  ...taskManagerAbi.filter((item) => item.type === 'error'),
]

/** Both encrypted halves of a key, and who may read it besides its owner. */
export type StoreKeyOptions = ChainWriter & {
  /** Address of PromptKeyStore. */
  readonly contract: Hex
  readonly high: EncryptedInput
  readonly low: EncryptedInput
  /** At most 16 addresses that may decrypt the key, for good. */
  readonly readers?: readonly Hex[]
  /** Who may give up to `maxGrants` active nodes access until `until` (Unix seconds): all three, or none. */
  readonly delegate?: Hex
  readonly maxGrants?: number
  readonly until?: number
  readonly signal?: AbortSignal
}

/** The handles to hand out: those that the contract stored, not the ones that encryption gave (spec 2.4). */
export type StoredKey = {
  readonly highHandle: bigint
  readonly lowHandle: bigint
  readonly txHash: Hex
  readonly gasUsed: bigint
}

/** Who owns a key and what its delegate may still do. */
export type KeyRecord = {
  readonly owner: Hex
  readonly delegate: Hex
  readonly grantsLeft: number
  /** Unix seconds. */
  readonly until: number
}

const hintFor = (name: string | undefined): string => {
  if (name === 'InvalidSigner') return 'Only the wallet that encrypted the halves can store them.'
  if (name === 'HandleTaken') return 'These halves are stored already; encrypt the key again.'
  if (name === 'NodeNotActive') return 'A delegate can give access to active nodes only.'
  if (name === 'ACLNotAllowed' || name === 'HandleNotAllowed' || name === 'InvalidHandle') {
    return 'The handles are not valid for this wallet and contract.'
  }
  if (name === undefined) {
    return 'Check the gas, the PromptKeyStore address, and that the handles are valid.'
  }
  return 'The PromptKeyStore contract documents this error.'
}

const revertedError = (
  call: { readonly functionName: string; readonly code: string },
  reason: string | undefined,
  hint: string,
  cause?: unknown,
): SvcError =>
  new SvcError(
    `${call.code}-reverted`,
    `${call.functionName} reverted: ${reason ?? 'no reason given'}`,
    {
      hint,
      cause,
    },
  )

const send = async (
  chain: ChainWriter,
  call: { to: Hex; data: Hex; functionName: string; code: string },
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  try {
    return await sendCall(chain, { ...call, abi: abiWithCoprocessorErrors }, signal)
  } catch (error) {
    signal?.throwIfAborted()
    const name = revertNameOf(error)
    if (name !== undefined) throw revertedError(call, name, hintFor(name), error)
    if (lacksFunds(error)) {
      throw new SvcError('chain-wallet-empty', `${call.functionName} reverted: no funds for gas`, {
        hint: `Send gas money to ${chain.walletClient.account.address.toLowerCase()}.`,
        cause: error,
      })
    }
    if (isRevert(error)) throw revertedError(call, undefined, hintFor(undefined), error)
    throw toChainError(error, `sending ${call.functionName}`)
  }
}

/** Stores a key on chain as one record; throws `store-key-reverted`, `chain-wallet-empty` or another chain error (spec 4, spec 7). */
export const storeKey = async (options: StoreKeyOptions): Promise<StoredKey> => {
  const { contract, high, low, readers = [], signal } = options
  const data = encodeFunctionData({
    abi: promptKeyStoreAbi,
    functionName: 'storeKey',
    args: [
      high,
      low,
      readers,
      options.delegate ?? zeroAddress,
      options.maxGrants ?? 0,
      BigInt(options.until ?? 0),
    ],
  })
  const call = { to: contract, data, functionName: 'storeKey', code: 'store-key' }
  const receipt = await send(options, call, signal)
  const ours = receipt.logs.filter((log) => log.address.toLowerCase() === contract.toLowerCase())
  const stored = parseEventLogs({ abi: promptKeyStoreAbi, logs: ours, eventName: 'KeyStored' })[0]
  if (stored === undefined) {
    throw revertedError(call, 'no key was stored', 'Check the PromptKeyStore address.')
  }
  const { highHandle, lowHandle } = stored.args
  return { highHandle, lowHandle, txHash: receipt.transactionHash, gasUsed: receipt.gasUsed }
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
): Promise<{ readonly txHash: Hex; readonly gasUsed: bigint }> => {
  const data = encodeFunctionData({
    abi: promptKeyStoreAbi,
    functionName: 'grantAccess',
    args: [options.highHandle, options.lowHandle, options.reader],
  })
  const call = { to: options.contract, data, functionName: 'grantAccess', code: 'grant-access' }
  const receipt = await send(options, call, options.signal)
  return { txHash: receipt.transactionHash, gasUsed: receipt.gasUsed }
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

import {
  type ContractFunctionArgs,
  type ContractFunctionName,
  type EncodeFunctionDataParameters,
  encodeFunctionData,
  type Hex,
  parseEventLogs,
  type TransactionReceipt,
} from 'viem'
import { promptKeyStoreAbi } from '../abi/prompt-key-store.ts'
import { taskManagerAbi } from '../abi/task-manager.ts'
import type { BlockId } from '../schemas/list.ts'
import { SvcError } from '../svc-error.ts'
import { isRevert, lacksFunds, revertNameOf, toChainError } from './chain-error.ts'
import { chainHash } from './chain-hash.ts'
import { type ContractCall, type Sending, sendCall } from './send.ts'

// The key store passes on the coprocessor's errors.
const abiWithCoprocessorErrors = [
  ...promptKeyStoreAbi,
  ...taskManagerAbi.filter((item) => item.type === 'error'),
]

/** A call of PromptKeyStore: the contract, and the code of its errors (`CODE-reverted`). */
export type KeyStoreCall = Omit<ContractCall, 'abi' | 'value'> & { readonly code: string }

/** Encodes a call of PromptKeyStore. */
export const callOf = <
  const Name extends ContractFunctionName<typeof promptKeyStoreAbi, 'nonpayable'>,
>(
  to: Hex,
  code: string,
  functionName: Name,
  args: ContractFunctionArgs<typeof promptKeyStoreAbi, 'nonpayable', Name>,
): KeyStoreCall => {
  const encoded = { abi: promptKeyStoreAbi, functionName, args } as EncodeFunctionDataParameters
  return { to, code, functionName, data: encodeFunctionData(encoded) }
}

/** A transaction in a block. */
export type Sent = {
  readonly txHash: Hex
  readonly gasUsed: bigint
  /** Its block. A reorganisation changes it. */
  readonly block: BlockId
}

const invalidHandles = 'The handles are not valid for this wallet and contract.'
const invalidList = 'The contract documents what a list must be.'

const hints: Readonly<Record<string, string>> = {
  InvalidSigner: 'Only the wallet that encrypted the halves can store them.',
  HandleTaken: 'These halves are stored already. Encrypt the key again.',
  ACLNotAllowed: invalidHandles,
  HandleNotAllowed: invalidHandles,
  InvalidHandle: invalidHandles,
  ReadersFixed: 'This is an output key, which takes no list.',
  ListAlreadyCommitted: 'Store another key, and commit the list before anything else.',
  ListHasEnded: 'The owner ended the list: a job that needs another node needs another key.',
  ListExpired: 'The time of the list is over: a job that needs another node needs another key.',
  InvalidListLength: invalidList,
  InvalidListEntry: invalidList,
  InvalidMask: invalidList,
  InvalidActivator: invalidList,
  WrongList:
    'Give job, activator, end and list as they were committed. Only the activator can activate.',
  NotOnList: 'Give a position of the list. For an output key, it is the position of this wallet.',
  NotActivated: 'The activator has to give these nodes access to the prompt key first.',
}

const hintFor = (name: string | undefined): string => {
  if (name === undefined) {
    return 'Check the gas, the PromptKeyStore address, and that the handles are valid.'
  }
  return hints[name] ?? 'The PromptKeyStore contract documents this error.'
}

const revertedError = (
  call: KeyStoreCall,
  reason: string | undefined,
  hint: string,
  cause?: unknown,
): SvcError =>
  new SvcError(
    `${call.code}-reverted`,
    `${call.functionName} reverted: ${reason ?? 'no reason given'}`,
    { hint, cause },
  )

/** Sends a call and waits for its receipt; throws `CODE-reverted`, `chain-wallet-empty` or another chain error. */
export const sendToKeyStore = async (
  chain: Sending,
  call: KeyStoreCall,
  signal: AbortSignal | undefined,
): Promise<TransactionReceipt> => {
  try {
    return await sendCall(chain, { ...call, abi: abiWithCoprocessorErrors }, signal)
  } catch (error) {
    signal?.throwIfAborted()
    const name = revertNameOf(error)
    if (name !== undefined) throw revertedError(call, name, hintFor(name), error)
    if (lacksFunds(error)) {
      throw new SvcError('chain-wallet-empty', `the wallet cannot pay for ${call.functionName}`, {
        hint: `Send gas money to ${chain.walletClient.account.address.toLowerCase()}.`,
        cause: error,
      })
    }
    if (isRevert(error)) throw revertedError(call, undefined, hintFor(undefined), error)
    throw toChainError(error, `sending ${call.functionName}`)
  }
}

/** Returns the contract's events in a transaction, in order. */
export const eventsOf = ({ to }: KeyStoreCall, { logs }: TransactionReceipt) => {
  const ours = logs.filter((log) => log.address.toLowerCase() === to.toLowerCase())
  return parseEventLogs({ abi: promptKeyStoreAbi, logs: ours })
}

/** Makes the error of a transaction that succeeded without doing its work, as a call of an address without a contract does. */
export const nothingDone = (call: KeyStoreCall, reason: string): SvcError =>
  revertedError(call, reason, 'Check the PromptKeyStore address.')

/** Returns the hash, gas and block of a receipt. */
export const sentAs = (receipt: TransactionReceipt): Sent => ({
  txHash: receipt.transactionHash,
  gasUsed: receipt.gasUsed,
  block: {
    number: receipt.blockNumber,
    hash: chainHash(receipt.blockHash, 'reading the block of a transaction'),
  },
})

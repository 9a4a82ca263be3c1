import {
  concat,
  createTestClient,
  type Hex,
  http,
  keccak256,
  pad,
  type TransactionReceipt,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { taskManagerAbi } from '../../lib/abi/task-manager.ts'
import type { EncryptedInput } from '../../lib/chain/encrypted-input.ts'
import { isAllowed, taskManager } from '../../lib/chain/task-manager.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { systemClock } from '../../lib/system.ts'
import { MIN_STAKE, read, send, type TestChain } from './test-chain.ts'

export const NOBODY: Hex = '0x0000000000000000000000000000000000000000'

const abi = [...promptKeyStoreAbi, ...taskManagerAbi.filter((item) => item.type === 'error')]

/** A key that a development account has stored. */
export type TestKey = {
  readonly receipt: TransactionReceipt
  readonly input: { readonly high: EncryptedInput; readonly low: EncryptedInput }
  readonly high: bigint
  readonly low: bigint
}

/** The handle that the coprocessor stores an encrypted uint128 under. */
export const storedHandle = (ctHash: bigint) => (ctHash & ~0xffffn) | 0x0600n

const [allowedSlot, publicSlot] = [1n, 2n]
const word = (value: bigint) => toHex(value, { size: 32 })
const slotOf = (key: Hex, slot: Hex) => keccak256(concat([pad(key, { size: 32 }), slot]))

/** Lets accounts use handles, as another contract that had them verified can: this writes the access list's storage. */
export const createAccessWriter = ({ anvil }: TestChain) => {
  const test = createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl) })
  const setTrue = (index: Hex) =>
    test.setStorageAt({ address: taskManager, index, value: word(1n) })
  return {
    allow: async (handles: readonly bigint[], ...accounts: readonly Hex[]) => {
      for (const handle of handles) {
        const ofHandle = slotOf(word(handle), word(allowedSlot))
        for (const account of accounts) await setTrue(slotOf(account, ofHandle))
      }
    },
    allowAll: (handle: bigint) => setTrue(slotOf(word(handle), word(publicSlot))),
  }
}

/** What the development accounts do with PromptKeyStore; accounts are named by their index. */
export const createKeyActions = (chain: TestChain) => {
  let nextValue = 1n
  const as = (index: number, functionName: string, args: readonly unknown[]) =>
    send(chain.wallet(index), { address: chain.promptKeyStore, abi, functionName, args })
  const view = <T>(functionName: string, args: readonly unknown[]) =>
    read<T>(chain, { address: chain.promptKeyStore, abi, functionName, args })
  const encryptAs = async (index: number) => {
    const account = chain.anvil.accounts[index]
    if (account === undefined) throw new Error(`no account ${index}`)
    const coprocessor = createCofheCoprocessor({
      ...chain.anvil,
      account: privateKeyToAccount(account.privateKey),
      clock: systemClock,
    })
    nextValue += 2n
    return await coprocessor.encrypt(nextValue, nextValue + 1n)
  }
  return {
    as,
    encryptAs,
    storeAs: async (index: number, ...rest: readonly unknown[]): Promise<TestKey> => {
      const { high, low } = await encryptAs(index)
      const receipt = await as(index, 'storeKey', [high, low, ...rest])
      const [highHandle, lowHandle] = [storedHandle(high.ctHash), storedHandle(low.ctHash)]
      return { receipt, input: { high, low }, high: highHandle, low: lowHandle }
    },
    ownerOf: (high: bigint, low: bigint) => view<Hex>('ownerOf', [high, low]),
    lowHandleOf: (index: number, high: bigint) =>
      view<bigint>('lowHandleOf', [chain.addressOf(index), high]),
    listOf: (high: bigint, low: bigint) =>
      view<readonly [Hex, number, boolean]>('listOf', [high, low]),
    mayRead: (handle: bigint, index: number) =>
      isAllowed(chain.wallet(0), handle, chain.addressOf(index)),
    registerNode: (index: number) =>
      send(chain.wallet(index), {
        address: chain.nodeRegistry,
        abi: nodeRegistryAbi,
        functionName: 'register',
        args: [[0]],
        value: MIN_STAKE,
      }),
  }
}

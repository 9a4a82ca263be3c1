import type { Hex, TransactionReceipt } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { taskManagerAbi } from '../../lib/abi/task-manager.ts'
import type { EncryptedInput } from '../../lib/chain/encrypted-input.ts'
import { isAllowed } from '../../lib/chain/task-manager.ts'
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

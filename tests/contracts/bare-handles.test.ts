import { type Abi, createTestClient, encodeFunctionData, type Hex, http } from 'viem'
import { sendTransaction } from 'viem/actions'
import { afterAll, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { ACTIVATOR, createListedKeys, jobId, NODES, OWNER, STRANGER } from './listed-keys.ts'
import { createAccessWriter, createKeyActions, NOBODY, storedHandle } from './stored-keys.ts'
import { eventsOf, revertOf, startTestChain } from './test-chain.ts'

const chain = await startTestChain()
const keys = createKeyActions(chain)
const listed = createListedKeys(chain, keys)
const { allow, allowAll } = createAccessWriter(chain)
const test = createTestClient({ mode: 'anvil', transport: http(chain.anvil.rpcUrl) })
const [LEADER, CHECKER] = NODES
for (const index of NODES) await keys.registerNode(index)
afterAll(() => chain.stop())

const handleOf = (hash: bigint) => storedHandle(hash << 16n)
const walletOf = (index: number) => chain.wallet(index).walletClient.account.address

describe('storing bare handles', () => {
  it('works for handles that the access list allows the caller, once, and makes no key', async () => {
    const [high, low] = [handleOf(71n), handleOf(72n)]
    const store = () => revertOf(keys.as(OWNER, 'storeKey', [high, low]))
    expect(await store()).toEqual(['HandleNotAllowed', high, chain.addressOf(OWNER)])
    await allow([high], chain.addressOf(OWNER))
    expect(await store()).toEqual(['HandleNotAllowed', low, chain.addressOf(OWNER)])
    await allow([low], chain.addressOf(OWNER))
    expect(await revertOf(keys.as(OWNER, 'storeKey', [high, high]))).toEqual(['EqualHalves', high])
    const receipt = await keys.as(OWNER, 'storeKey', [high, low])
    expect(eventsOf(receipt, promptKeyStoreAbi)).toEqual([
      { name: 'HandlesStored', owner: walletOf(OWNER), highHandle: high, lowHandle: low },
    ])
    expect(await store()).toEqual(['HandleTaken', high])
    expect(await keys.lowHandleOf(OWNER, high)).toBe(low)
    expect(await keys.lowHandleOf(STRANGER, high)).toBe(0n)
    expect(await keys.ownerOf(high, low)).toBe(NOBODY)
    const end = keys.as(OWNER, 'endList', [high, low])
    expect(await revertOf(end)).toEqual(['UnknownKey', high, low])
  })

  it('refuses handles of another type and handles that everybody may read', async () => {
    const bool = 73n << 16n
    expect(await revertOf(keys.as(OWNER, 'storeKey', [bool, 0n]))).toEqual(['InvalidHandle', bool])
    const open = handleOf(74n)
    await allowAll(open)
    const store = keys.as(OWNER, 'storeKey', [open, open])
    expect(await revertOf(store)).toEqual(['InvalidHandle', open])
  })
})

describe('a stranger that may use the handles and records them first', () => {
  /** Lets the stranger record the handles of these inputs, and `index` store a key of them, in this order in one block. */
  const storeAfterStranger = async (index: number, more: readonly unknown[]) => {
    const input = await keys.encryptAs(index)
    const [high, low] = [storedHandle(input.high.ctHash), storedHandle(input.low.ctHash)]
    const accounts = [STRANGER, index].map(chain.addressOf)
    await allow([high, low], ...accounts, chain.promptKeyStore)
    await test.setAutomine(false)
    const hashes: Hex[] = []
    for (const [from, args] of [
      [STRANGER, [high, low]],
      [index, [input.high, input.low, ...more]],
    ] as const) {
      const abi: Abi = promptKeyStoreAbi
      const data = encodeFunctionData({ abi, functionName: 'storeKey', args })
      const { walletClient } = chain.wallet(from)
      const call = { to: chain.promptKeyStore, data, gas: 900_000n }
      hashes.push(await sendTransaction(walletClient, call))
    }
    await test.mine({ blocks: 1 })
    await test.setAutomine(true)
    const { publicClient } = chain.wallet(0)
    const receipts = await Promise.all(
      hashes.map((hash) => publicClient.getTransactionReceipt({ hash })),
    )
    expect(new Set(receipts.map(({ blockNumber }) => blockNumber)).size).toBe(1)
    expect(receipts.map(({ transactionIndex }) => transactionIndex)).toEqual([0, 1])
    expect(receipts.map(({ status }) => status)).toEqual(['success', 'success'])
    const [first, second] = receipts.map((receipt) => eventsOf(receipt, promptKeyStoreAbi))
    const handles = { highHandle: high, lowHandle: low }
    expect(first).toEqual([{ name: 'HandlesStored', owner: walletOf(STRANGER), ...handles }])
    expect(second?.[0]).toMatchObject({ name: 'KeyStored', owner: walletOf(index), ...handles })
    expect(await keys.ownerOf(high, low)).toBe(walletOf(index))
    return { high, low }
  }

  it('changes nothing for a prompt key, whose owner commits its list', async () => {
    const { high, low } = await storeAfterStranger(OWNER, [jobId])
    const { list, until } = await listed.newTerms()
    const args = [high, low, jobId, list, 1, chain.addressOf(ACTIVATOR), BigInt(until)]
    expect(await revertOf(keys.as(STRANGER, 'commitList', args))).toEqual([
      'NotAuthorized',
      chain.addressOf(STRANGER),
    ])
    await keys.as(OWNER, 'commitList', args)
    expect(await keys.mayRead(low, LEADER)).toBe(true)
  })

  it('changes nothing for an output key, which its readers can read', async () => {
    const { high: prompt, list, until } = await listed.commit(0b0011)
    const opened = [prompt, jobId, chain.addressOf(ACTIVATOR), until, list, 0, 0b0010]
    const { high, low } = await storeAfterStranger(LEADER, opened)
    for (const index of [OWNER, CHECKER]) {
      expect(await keys.mayRead(high, index)).toBe(true)
      expect(await keys.mayRead(low, index)).toBe(true)
    }
  })
})

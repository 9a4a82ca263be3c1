import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { createNodeChain } from '../../../node/chain/contracts.ts'
import { DAY_S, MIN_STAKE, send, startTestChain } from '../../contracts/test-chain.ts'

const chain = await startTestChain()
afterAll(() => chain.stop())

const nodeWith = (privateKey: `0x${string}`, rpcUrl = chain.anvil.rpcUrl) =>
  createNodeChain({
    rpcUrl,
    chainId: chain.anvil.chainId,
    account: privateKeyToAccount(privateKey),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
  })
const keyOf = (index: number) => chain.anvil.accounts[index]!.privateKey

describe("the node's chain", () => {
  it('shows no registration before there is one', async () => {
    expect(await nodeWith(keyOf(5)).registration()).toBeUndefined()
  })

  it('shows tiers and the last heartbeat, which a new heartbeat moves', async () => {
    await send(chain.wallet(4), {
      address: chain.nodeRegistry,
      abi: nodeRegistryAbi,
      functionName: 'register',
      args: [[0, 1]],
      value: MIN_STAKE,
    })
    const node = nodeWith(keyOf(4))
    const before = await node.registration()
    expect(before?.modelTiers).toEqual([0, 1])
    await chain.increaseTime(10 * DAY_S)
    expect(await node.sendHeartbeat()).toMatch(/^0x[0-9a-f]{64}$/)
    const after = await node.registration()
    expect(after!.lastHeartbeat - before!.lastHeartbeat).toBeGreaterThanOrEqual(10 * DAY_S)
  })

  it('knows of no list for a key that is not bound to one', async () => {
    expect(await nodeWith(keyOf(5)).listCommitmentOf(1n, 2n)).toBeUndefined()
  })

  it('says that the wallet cannot pay, and where to send gas money', async () => {
    const wallet = chain.wallet(4)
    const { address } = wallet.walletClient.account
    expect(await nodeWith(keyOf(4)).answersPaidFor()).toBeGreaterThan(10)
    await createTestClient({ mode: 'anvil', transport: http(chain.anvil.rpcUrl) }).setBalance({
      address,
      value: 1n,
    })
    expect(await nodeWith(keyOf(4)).answersPaidFor()).toBe(0)
    await expect(nodeWith(keyOf(4)).sendHeartbeat()).rejects.toMatchObject({
      code: 'no-gas',
      hint: `Send gas money to ${address.toLowerCase()}.`,
    })
  })

  it('says that the chain cannot be reached', async () => {
    const node = nodeWith(keyOf(4), 'http://127.0.0.1:9')
    await expect(node.registration()).rejects.toMatchObject({
      code: 'chain-unavailable',
      retryable: true,
    })
  })
})

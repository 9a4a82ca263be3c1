import { encodeFunctionData, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sendTransaction } from 'viem/actions'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import type { ChainResult } from '../../../icl/chain/chain.ts'
import { createViemChain, type ViemChainOptions } from '../../../icl/chain/viem.ts'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import { commitList } from '../../../lib/chain/key-lists.ts'
import { storeKey } from '../../../lib/chain/prompt-key-store.ts'
import type { ContractCall } from '../../../lib/chain/send.ts'
import { createSender } from '../../../lib/chain/sender.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { createCofheCoprocessor } from '../../../lib/coprocessor/cofhe.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { aHash, aJobId, anAddress } from '../../branded.ts'
import { deployTo, eventsOf, MIN_STAKE, send, startTestChain } from '../../contracts/test-chain.ts'
import { startProxy } from '../../e2e/proxy.ts'
import { until } from '../../eventually.ts'
import { anvilClient } from './anvil-client.ts'

const [coordinator, client, node] = [1, 4, 5] as const
const stuckMs = 150

const chain = await startTestChain()
const anvil = anvilClient(chain.anvil.rpcUrl)
await send(chain.wallet(node), {
  address: chain.nodeRegistry,
  abi: nodeRegistryAbi,
  functionName: 'register',
  args: [[0]],
  value: MIN_STAKE,
})
afterAll(() => chain.stop())
beforeEach(async () => {
  await anvil.setAutomine(true)
})

const keyOf = (index: number) => chain.anvil.accounts[index]!.privateKey
const account = () => privateKeyToAccount(keyOf(coordinator))
const newSender = () =>
  createSender(
    createChainWriter({ ...chain.anvil, account: account(), pollingIntervalMs: 10 }),
    systemClock,
    { pollMs: 10, stuckMs },
  )
const newChain = (changes: Partial<ViemChainOptions> = {}) =>
  createViemChain({
    rpcUrl: chain.anvil.rpcUrl,
    chainId: chain.anvil.chainId,
    account: account(),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
    resultRegistry: chain.resultRegistry,
    confirmations: 1,
    clock: systemClock,
    pollingIntervalMs: 10,
    stuckMs,
    ...changes,
  })

const hash = (): Hash32 => aHash(`0x${Buffer.from(systemRandom.bytes(32)).toString('hex')}`)
const resultOf = (): ChainResult => ({
  jobId: aJobId(hash()),
  receiptHash: hash(),
  keyBlock: 0n,
})
const commitCall = (...results: ChainResult[]): ContractCall => ({
  to: chain.resultRegistry,
  abi: resultRegistryAbi,
  functionName: 'commitResults',
  data: encodeFunctionData({
    abi: resultRegistryAbi,
    functionName: 'commitResults',
    args: [results],
  }),
})
const nonceOf = (blockTag: 'latest' | 'pending') =>
  anvil.getTransactionCount({ address: chain.addressOf(coordinator), blockTag })
/** What waits of this account, as the pool has it at one moment: a hash may be replaced before it is asked about. */
const poolOf = async () => {
  const { pending, queued } = await anvil.getTxpoolContent()
  return [pending, queued].flatMap((pool) =>
    Object.entries(pool)
      .filter(([address]) => address.toLowerCase() === chain.addressOf(coordinator))
      .flatMap(([, transactions]) => Object.values(transactions)),
  )
}
const waiting = async (): Promise<Hex[]> => (await poolOf()).map(({ hash }) => hash)
const theOne = async (isIt: (hash: Hex) => boolean) => {
  let found: Awaited<ReturnType<typeof poolOf>>[number] | undefined
  await until(async () => {
    found = (await poolOf()).find(({ hash }) => isIt(hash))
    return found !== undefined
  })
  return found!
}
const byText = (a: string, b: string) => (a < b ? -1 : 1)
const isCommitted = async (result: ChainResult) =>
  (await newChain().findCommitment(result, undefined)).state !== 'absent'

describe('sending while blocks are slow', () => {
  it('counts nonces for many at once, each of which gets its own receipt', async () => {
    await anvil.setAutomine(false)
    const sender = newSender()
    const results = Array.from({ length: 30 }, resultOf)
    const sent = results.map((result) => sender.send(commitCall(result), 'result'))
    let mined = 0
    void Promise.all(sent).then(() => {
      mined = sent.length
    })
    await until(async () => {
      await anvil.mine({ blocks: 1 })
      return mined > 0
    })
    const receipts = await Promise.all(sent)
    for (const [index, receipt] of receipts.entries()) {
      const [event] = eventsOf(receipt, resultRegistryAbi)
      expect((event as { jobId?: unknown } | undefined)?.jobId).toBe(results[index]!.jobId)
    }
  })

  it('grants go before results that were asked for earlier', async () => {
    await anvil.setAutomine(false)
    const sender = newSender()
    const order: string[] = []
    const ask = (name: string, urgency: 'grant' | 'result') =>
      sender.send(commitCall(resultOf()), urgency).then(({ transactionIndex, blockNumber }) => {
        order.push(`${blockNumber}:${String(transactionIndex).padStart(3, '0')} ${name}`)
      })
    const all = [ask('r1', 'result'), ask('r2', 'result'), ask('r3', 'result'), ask('g', 'grant')]
    await until(async () => (await waiting()).length === 4)
    await anvil.mine({ blocks: 1 })
    await Promise.all(all)
    // The first was on its way before the grant was asked for.
    expect(order.sort(byText).map((entry) => entry.split(' ')[1])).toEqual(['r1', 'g', 'r2', 'r3'])
  })

  it('a stuck transaction is replaced under its nonce with at least an eighth more fees', async () => {
    await anvil.setAutomine(false)
    const before = await nonceOf('latest')
    const sending = newSender().send(commitCall(resultOf()), 'result')
    const first = await theOne(() => true)
    const second = await theOne((hash) => hash !== first.hash)
    expect([second.nonce, await nonceOf('latest')]).toEqual([first.nonce, before])
    for (const fee of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
      expect(BigInt(second[fee]!) * 8n).toBeGreaterThanOrEqual(BigInt(first[fee]!) * 9n)
    }
    await anvil.mine({ blocks: 1 })
    expect((await sending).status).toBe('success')
    expect(await nonceOf('pending')).toBe(before + 1)
  })

  it('a transaction that the chain dropped is sent again, and those after it go through', async () => {
    await anvil.setAutomine(false)
    const sender = newSender()
    const sent = [resultOf(), resultOf(), resultOf()].map((result) =>
      sender.send(commitCall(result), 'result'),
    )
    await until(async () => (await waiting()).length === 3)
    const [lowest] = (await poolOf()).toSorted((a, b) => Number(a.nonce) - Number(b.nonce))
    await anvil.dropTransaction({ hash: lowest!.hash })
    let done = false
    void Promise.all(sent).then(() => {
      done = true
    })
    await until(async () => {
      await anvil.mine({ blocks: 1 })
      return done
    })
    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(statuses).toEqual(['success', 'success', 'success'])
  })

  it('a nonce that nobody fills below ours is filled', async () => {
    await anvil.setAutomine(false)
    const nonce = await nonceOf('latest')
    const wallet = chain.wallet(coordinator).walletClient
    const to = chain.addressOf(coordinator)
    // Another process of this account sent two, of which the first was dropped after ours was counted from them.
    const foreign = await sendTransaction(wallet, { to, value: 0n, gas: 21_000n, nonce })
    const sending = newSender().send(commitCall(resultOf()), 'result')
    await until(async () => (await waiting()).length === 2)
    await anvil.dropTransaction({ hash: foreign })
    let done = false
    void sending.then(() => {
      done = true
    })
    await until(async () => {
      await anvil.mine({ blocks: 1 })
      return done
    })
    expect((await sending).status).toBe('success')
    expect(await nonceOf('latest')).toBe(nonce + 2)
  })

  it('what its signal ends is waited for no longer, and the next starts from the chain', async () => {
    await anvil.setAutomine(false)
    const sender = newSender()
    const term = new AbortController()
    const given = sender.send(commitCall(resultOf()), 'result', term.signal)
    await until(async () => (await waiting()).length === 1)
    term.abort(new Error('lease lost'))
    await expect(given).rejects.toThrow('lease lost')
    await anvil.setAutomine(true)
    await anvil.mine({ blocks: 1 })
    expect((await sender.send(commitCall(resultOf()), 'result')).status).toBe('success')
  })

  it('a call that would revert says why, costs nothing and uses no nonce', async () => {
    const before = await nonceOf('pending')
    const stranger = createSender(chain.wallet(8), systemClock, { pollMs: 10, stuckMs })
    await expect(stranger.send(commitCall(resultOf()), 'result')).rejects.toThrow('MissingRole')
    expect(await nonceOf('pending')).toBe(before)
  })
})

it('a chain that reorganises forgets a result, which is then absent, and can be sent again', async () => {
  const icl = newChain({ confirmations: 3 })
  const result = resultOf()
  const snapshot = await anvil.snapshot()
  const lost = await icl.commitResults([result])
  expect(await icl.findCommitment(result, lost)).toEqual({ state: 'shallow' })
  await anvil.revert({ id: snapshot })
  await anvil.mine({ blocks: 2 })
  expect(await icl.findCommitment(result, lost)).toEqual({ state: 'absent' })
  const tx = await icl.commitResults([result])
  await anvil.mine({ blocks: 3 })
  expect(await icl.findCommitment(result, lost)).toEqual({ state: 'deep', tx })
})

describe('two owners at once', () => {
  it('commit the same results: each stands there once', async () => {
    await anvil.setAutomine(false)
    const results = [resultOf(), resultOf(), resultOf()]
    const sent = [newChain(), newChain()].map((icl) => icl.commitResults(results))
    let ended = false
    const settled = Promise.allSettled(sent).then((all) => {
      ended = true
      return all
    })
    await until(async () => {
      await anvil.mine({ blocks: 1 })
      return ended
    })
    // Each got through, unless the other took its nonce: then it looks and finds its results there.
    for (const one of await settled) {
      if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'chain-nonce-taken' })
    }
    for (const result of results) {
      expect(await isCommitted(result)).toBe(true)
      const events = await anvil.getContractEvents({
        address: chain.resultRegistry,
        abi: resultRegistryAbi,
        args: { jobId: result.jobId },
        fromBlock: 0n,
      })
      expect(events.map(({ eventName }) => eventName)).toEqual(['ResultCommitted'])
    }
  })

  it('activate the same node: it is given access once', async () => {
    const owner = privateKeyToAccount(keyOf(client))
    const coprocessor = createCofheCoprocessor({
      ...chain.anvil,
      account: owner,
      clock: systemClock,
    })
    const half = () => BigInt(`0x${Buffer.from(systemRandom.bytes(16)).toString('hex')}`)
    const wallet = { ...chain.wallet(client), contract: chain.promptKeyStore }
    const halves = await coprocessor.encrypt(half(), half())
    const { highHandle, lowHandle } = await storeKey({ ...wallet, ...halves, terms: hash() })
    const members = [8, node, 9].map((index) => anAddress(chain.addressOf(index)))
    const terms = {
      jobId: aJobId(hash()),
      activator: anAddress(chain.addressOf(coordinator)),
      until: (await chain.now()) + 3_600,
      list: members,
    }
    await commitList({ ...wallet, highHandle, lowHandle, terms, mask: 1 })
    const { jobId, until: end } = terms
    const activation = { high: highHandle, low: lowHandle, jobId, members, until: end, position: 1 }
    await anvil.setAutomine(false)
    const reader = chain.addressOf(node)
    let ended = false
    const owners = [newChain(), newChain()]
    const settled = Promise.allSettled(owners.map((icl) => icl.activate(activation))).then(
      (all) => {
        ended = true
        return all
      },
    )
    await until(async () => {
      await anvil.mine({ blocks: 1 })
      return ended
    })
    const outcomes = (await settled).map((one) =>
      one.status === 'fulfilled' ? one.value : one.reason.code,
    )
    expect(outcomes).toContain('granted')
    expect(await owners[0]!.listOf(highHandle, lowHandle)).toMatchObject({ used: 0b11 })
    const events = await anvil.getContractEvents({
      address: chain.promptKeyStore,
      abi: promptKeyStoreAbi,
      eventName: 'AccessGranted',
      args: { highHandle, reader },
      fromBlock: 0n,
    })
    expect(events).toHaveLength(1)
  })
})

describe('what the operator is told', () => {
  it('nothing while all is well', async () => {
    expect(await newChain().findFaults()).toEqual([])
  })

  it('that the RPC serves another chain', async () => {
    expect(await newChain({ chainId: 5 }).findFaults()).toEqual([
      `the RPC serves chain ${chain.anvil.chainId}, and the settings say 5`,
    ])
  })

  it('an RPC that answers all but eth_getLogs, which lists are drawn from', async () => {
    const proxy = await startProxy()
    proxy.target = chain.anvil.rpcUrl
    const error = { code: -32005, message: 'query returned more than 10000 results' }
    proxy.decide = ({ body }) =>
      body.includes('eth_getLogs')
        ? { status: 200, json: { jsonrpc: '2.0', id: JSON.parse(body).id, error } }
        : 'pass'
    const faults = await newChain({ rpcUrl: proxy.url }).findFaults()
    await proxy.stop()
    expect(faults).toEqual(['the RPC fails eth_getLogs: no list can be drawn'])
  })

  it('a key store of another deployment, which would refuse every node', async () => {
    const { promptKeyStore } = await deployTo(chain.anvil)
    const [fault] = await newChain({ promptKeyStore }).findFaults()
    expect(fault).toContain(`${promptKeyStore} asks the NodeRegistry at 0x`)
    expect(fault).toContain(`settings name ${chain.nodeRegistry}`)
  })

  it('a wrong address, another contract, a missing role, an empty account', async () => {
    const nowhere = `0x${'de'.repeat(20)}` as const
    expect(await newChain({ resultRegistry: anAddress(nowhere) }).findFaults()).toEqual([
      `ResultRegistry: there is no contract at ${nowhere}`,
    ])
    expect(await newChain({ nodeRegistry: chain.promptKeyStore }).findFaults()).toContain(
      `NodeRegistry: the contract at ${chain.promptKeyStore} is another one, or reverts whatever it is asked`,
    )
    expect(await newChain({ promptKeyStore: chain.resultRegistry }).findFaults()).toEqual([
      `PromptKeyStore: the contract at ${chain.resultRegistry} is another one, or reverts whatever it is asked`,
    ])
    // Both know roles.
    for (const [name, set, address] of [
      ['NodeRegistry', 'nodeRegistry', chain.resultRegistry],
      ['PromptKeyStore', 'promptKeyStore', chain.resultRegistry],
      ['ResultRegistry', 'resultRegistry', chain.nodeRegistry],
    ] as const) {
      expect(await newChain({ [set]: address }).findFaults()).toContain(
        `${name}: the contract at ${address} is another one, or reverts whatever it is asked`,
      )
    }
    const poor = privateKeyToAccount(`0x${'77'.repeat(32)}`)
    const faults = await newChain({ account: poor }).findFaults()
    expect(faults.map((fault) => fault.replace(/0x\w+/g, '_'))).toEqual([
      'NodeRegistry: _ does not have the coordinator role at _',
      'ResultRegistry: _ does not have the coordinator role at _',
      'the coordinator _ has not enough gas money for one result',
    ])
  })
})

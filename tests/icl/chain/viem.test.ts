import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import type { ChainResult } from '../../../icl/chain/chain.ts'
import { createViemChain, type ViemChainOptions } from '../../../icl/chain/viem.ts'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { commitList, endList } from '../../../lib/chain/key-lists.ts'
import { storeKey } from '../../../lib/chain/prompt-key-store.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { createCofheCoprocessor } from '../../../lib/coprocessor/cofhe.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { aHash, aJobId, anAddress } from '../../branded.ts'
import { MIN_STAKE, send, startTestChain } from '../../contracts/test-chain.ts'
import { searching } from './few-blocks.ts'

const coordinator = 1
const client = 4
const [node, otherNode, stranger] = [5, 6, 7]

const chain = await startTestChain()
for (const index of [node, otherNode]) {
  await send(chain.wallet(index!), {
    address: chain.nodeRegistry,
    abi: nodeRegistryAbi,
    functionName: 'register',
    args: [[0, 2]],
    value: MIN_STAKE,
  })
}
afterAll(() => chain.stop())

const keyOf = (index: number) => chain.anvil.accounts[index]!.privateKey
const adapter = (changes: Partial<ViemChainOptions> = {}) =>
  createViemChain({
    rpcUrl: chain.anvil.rpcUrl,
    chainId: chain.anvil.chainId,
    account: privateKeyToAccount(keyOf(coordinator)),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
    resultRegistry: chain.resultRegistry,
    confirmations: 1,
    clock: systemClock,
    ...changes,
  })

const hash = (): Hash32 => aHash(`0x${Buffer.from(systemRandom.bytes(32)).toString('hex')}`)
const resultOf = (changes: Partial<ChainResult> = {}): ChainResult => ({
  jobId: aJobId(hash()),
  receiptHash: hash(),
  keyBlock: 1n,
  ...changes,
})

describe('committing a result', () => {
  it('is absent, then there, found by its transaction and without it', async () => {
    const icl = adapter()
    const result = resultOf()
    expect(await icl.findCommitment(result, undefined)).toEqual({ state: 'absent' })
    const tx = await icl.commitResults([result])
    const deep = { state: 'deep', tx }
    expect(await icl.findCommitment(result, tx)).toEqual(deep)
    expect(await icl.findCommitment(result, undefined)).toEqual(deep)
    // What was sent last found the result there already: the transaction before is the one that counts.
    const again = await icl.commitResults([result])
    expect(again).not.toBe(tx)
    expect(await icl.findCommitment(result, again)).toEqual(deep)
  })

  it('is shallow until it is as deep as the operator asks', async () => {
    const icl = adapter({ confirmations: 3 })
    const result = resultOf()
    const tx = await icl.commitResults([result])
    expect(await icl.findCommitment(result, tx)).toEqual({ state: 'shallow' })
    await chain.increaseTime(1)
    await chain.increaseTime(1)
    expect(await icl.findCommitment(result, tx)).toEqual({ state: 'deep', tx })
  })

  it('says so when another result of the job stands there', async () => {
    const icl = adapter()
    const result = resultOf()
    await icl.commitResults([result])
    const other = resultOf({ jobId: result.jobId })
    await expect(icl.findCommitment(other, undefined)).rejects.toMatchObject({
      code: 'chain-conflict',
    })
  })

  it('says nothing of another result that a reorganisation may still remove', async () => {
    const result = resultOf()
    await adapter().commitResults([result])
    const found = adapter({ confirmations: 3 }).findCommitment
    expect(await found(resultOf({ jobId: result.jobId }), undefined)).toEqual({ state: 'shallow' })
  })

  it('names the address when no contract is there, and the role when it is missing', async () => {
    const nowhere = anAddress(`0x${'de'.repeat(20)}`)
    await expect(
      adapter({ resultRegistry: nowhere }).findCommitment(resultOf(), undefined),
    ).rejects.toMatchObject({ message: expect.stringContaining(nowhere) })
    const impostor = adapter({ account: privateKeyToAccount(keyOf(stranger!)) })
    await expect(impostor.commitResults([resultOf()])).rejects.toMatchObject({
      code: 'chain-reverted',
      message: expect.stringContaining('MissingRole'),
    })
  })
})

describe('the list of a prompt key', () => {
  const [owner, member] = [client, (index: number) => anAddress(chain.addressOf(index))]
  const store = async () => {
    const account = privateKeyToAccount(keyOf(owner))
    const coprocessor = createCofheCoprocessor({ ...chain.anvil, account, clock: systemClock })
    const half = () => BigInt(`0x${Buffer.from(systemRandom.bytes(16)).toString('hex')}`)
    const halves = await coprocessor.encrypt(half(), half())
    const terms = hash()
    const wallet = chain.wallet(owner)
    const contract = chain.promptKeyStore
    const { highHandle, lowHandle, block } = await storeKey({
      ...wallet,
      contract,
      ...halves,
      terms,
    })
    const key = { ...wallet, contract, highHandle, lowHandle }
    const members = [node!, otherNode!, stranger!].map(member)
    const list = {
      jobId: aJobId(hash()),
      activator: member(coordinator),
      until: (await chain.now()) + 3_600,
      list: members,
    }
    const { jobId, until } = list
    const activation = { high: highHandle, low: lowHandle, jobId, members, until }
    return { key, terms, block, list, activation, high: highHandle, low: lowHandle }
  }

  it('starts with the key in its block, and in no other', async () => {
    const icl = adapter()
    const { high, low, terms, block } = await store()
    const { number } = block
    const found = await icl.storedKeyAt(member(owner), high, low, number)
    expect(found).toEqual({
      termsHash: terms,
      block,
      storedAt: await chain.now(),
    })
    expect(await icl.storedKeyAt(member(owner), low, high, number)).toBeUndefined()
    expect(await icl.outputKeyOf(high, low, number)).toBeUndefined()
    expect(await icl.storedKeyAt(member(owner), high, low, number - 1n)).toBeUndefined()
    expect(await icl.storedKeyAt(member(stranger!), high, low, number)).toBeUndefined()
    expect(await icl.storedKeyAt(member(owner), high, low, number + 1_000n)).toBeUndefined()
  })

  it('gives active members access in any order, and nobody once it has ended', async () => {
    const icl = adapter()
    const { key, list, activation, high, low } = await store()
    expect(await icl.listOf(high, low)).toEqual({ commitment: undefined, used: 0, ended: false })
    await expect(icl.activate({ ...activation, position: 1 })).rejects.toMatchObject({
      code: 'chain-reverted',
      retryable: true,
    })
    await commitList({ ...key, terms: list, mask: 1 })
    expect((await icl.listOf(high, low)).commitment).toBe(listCommitment(list))
    expect(await icl.activate({ ...activation, position: 2 })).toBe('refused')
    expect(await icl.activate({ ...activation, position: 1 })).toBe('granted')
    expect(await icl.isAllowed(high, member(otherNode!))).toBe(true)
    expect(await icl.listOf(high, low)).toMatchObject({ used: 3, ended: false })
    const members = activation.members.toReversed()
    expect(await icl.activate({ ...activation, members, position: 2 })).toBe('other')
    await endList(key)
    expect(await icl.listOf(high, low)).toMatchObject({ used: 3, ended: true })
    expect(await icl.activate({ ...activation, position: 2 })).toBe('ended')
  })

  it('ends with its time', async () => {
    const icl = adapter()
    const { key, list, activation } = await store()
    await commitList({ ...key, terms: list, mask: 1 })
    await chain.increaseTime(3_700)
    expect(await icl.activate({ ...activation, position: 1 })).toBe('ended')
  })
})

it('a node is what the registry says, or nothing', async () => {
  const icl = adapter()
  expect(await icl.nodeOf(anAddress(chain.addressOf(node!)))).toEqual({
    registered: true,
    active: true,
    unbonding: false,
    modelTiers: [0, 2],
  })
  expect(await icl.nodeOf(anAddress(chain.addressOf(stranger!)))).toMatchObject({
    registered: false,
  })
})

it('a chain that is away is told as such', async () => {
  const icl = adapter({ rpcUrl: 'http://127.0.0.1:1' })
  await expect(icl.ping()).rejects.toMatchObject({ code: 'chain-unavailable', retryable: true })
})

/** Runs work and answers the JSON-RPC requests that it made of this chain; other tests of the process may be fetching, too. */
async function requestsOf(
  work: () => Promise<void>,
): Promise<{ method: string; params: Record<string, string>[] }[]> {
  const bodies: string[] = []
  const realFetch = globalThis.fetch
  const noting = async (input: string | URL | Request, init?: RequestInit) => {
    const request = new Request(input, init)
    if (request.url.startsWith(chain.anvil.rpcUrl)) bodies.push(await request.clone().text())
    return realFetch(request)
  }
  globalThis.fetch = Object.assign(noting, { preconnect: realFetch.preconnect })
  try {
    await work()
  } finally {
    globalThis.fetch = realFetch
  }
  return bodies.map((body) => JSON.parse(body))
}

it('many nodes are read with few requests, and remembered', async () => {
  const icl = adapter()
  const addresses = Array.from({ length: 250 }, (_, index) =>
    anAddress(index === 7 ? chain.addressOf(node!) : `0x${index.toString(16).padStart(40, '0')}`),
  )
  const requests = await requestsOf(async () => {
    const nodes = await icl.nodesOf(addresses)
    expect(nodes.size).toBe(250)
    expect(nodes.get(anAddress(chain.addressOf(node!)))).toMatchObject({
      registered: true,
      active: true,
    })
    expect(nodes.get(addresses[8]!)).toMatchObject({ registered: false })
    await icl.nodesOf(addresses)
    await icl.nodeOf(addresses[9]!)
    await icl.nodesOf(addresses.slice(0, 9), 'now')
  })
  expect(requests.map(({ method }) => method)).toEqual(Array(11).fill('eth_call'))
})

it('an old result is found without its transaction where an endpoint searches few blocks at once', async () => {
  const result = resultOf()
  const tx = await adapter().commitResults([result])
  await createTestClient({ mode: 'anvil', transport: http(chain.anvil.rpcUrl) }).mine({
    blocks: 300,
    interval: 12,
  })
  const icl = adapter({ rpcFetch: searching(100) })
  expect(await icl.findCommitment(result, undefined)).toEqual({ state: 'deep', tx })
  const late = resultOf({ keyBlock: 300n, jobId: result.jobId, receiptHash: result.receiptHash })
  await expect(icl.findCommitment(late, undefined)).rejects.toMatchObject({
    code: 'chain-event-missing',
  })
})

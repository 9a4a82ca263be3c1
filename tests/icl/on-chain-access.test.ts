import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createViemChain } from '../../icl/chain/viem.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { commitList } from '../../lib/chain/key-lists.ts'
import { storeKey } from '../../lib/chain/prompt-key-store.ts'
import { isAllowed } from '../../lib/chain/task-manager.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { maskOf } from '../../lib/list.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { MIN_STAKE, send, startTestChain, type TestChain } from '../contracts/test-chain.ts'
import { listKey } from '../listed-key.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { claim, offersOf } from './node-steps.ts'
import {
  chainId,
  createReplica,
  createShared,
  joinNode,
  modelId,
  origin,
  type TestIcl,
  type TestNode,
  walletOf,
} from './test-icl.ts'

/** The host's clock, for what talks to a real chain. */
const realClock: VirtualClock = {
  ...systemClock,
  advance: (ms) => systemClock.sleep(ms),
  jump: (ms) => systemClock.sleep(ms),
  leap: () => {},
  until: (work) => work,
}

let chain: TestChain
let icl: TestIcl
const nodes: TestNode[] = []
const clientName = 'client on chain'
const client = walletOf(clientName)
const poolSize = 20

const writerOf = (name: string) =>
  createChainWriter({
    ...chain.anvil,
    account: walletOf(name).account,
    pollingIntervalMs: 10,
  })

beforeAll(async () => {
  chain = await startTestChain()
  const anvil = createTestClient({ mode: 'anvil', transport: http(chain.anvil.rpcUrl) })
  const viemChain = createViemChain({
    rpcUrl: chain.anvil.rpcUrl,
    chainId: chain.anvil.chainId,
    account: privateKeyToAccount(chain.anvil.accounts[1].privateKey),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
    resultRegistry: chain.resultRegistry,
    confirmations: 1,
    clock: systemClock,
  })
  icl = await createReplica({ ...createShared(), clock: realClock }, { chain: viemChain })
  await anvil.setBalance({ address: client.address, value: 10n ** 20n })
  for (let index = 0; index < poolSize; index++) {
    const name = `node ${index} on chain`
    await anvil.setBalance({ address: walletOf(name).address, value: 2n * MIN_STAKE })
    await send(writerOf(name), {
      address: chain.nodeRegistry,
      abi: nodeRegistryAbi,
      functionName: 'register',
      args: [[0]],
      value: MIN_STAKE,
    })
    nodes.push(await joinNode(icl, name))
  }
}, 120_000)
afterAll(async () => {
  await icl.stop()
  await chain.stop()
})

const until = async <T>(look: () => Promise<T | undefined>): Promise<T> => {
  for (let attempt = 0; attempt < 200; attempt++) {
    const seen = await look()
    if (seen !== undefined) return seen
    await systemClock.sleep(50)
  }
  throw new Error('it never came')
}

/** Stores a key on chain under terms, and asks for its list over a pool of 20 nodes. */
async function storeUnderTerms() {
  const api = icl.api(client.signer)
  const coprocessor = createCofheCoprocessor({
    ...chain.anvil,
    account: client.account,
    clock: systemClock,
  })
  const half = () => BigInt(`0x${Buffer.from(systemRandom.bytes(16)).toString('hex')}`)
  const contract = chain.promptKeyStore
  const key = await listKey(api, {
    origin,
    modelId,
    storeKey: async (terms) => {
      const halves = await coprocessor.encrypt(half(), half())
      const stored = await storeKey({ ...writerOf(clientName), contract, ...halves, terms })
      return { ...stored, blockNumber: stored.block.number }
    },
  })
  const { highHandle, lowHandle } = key
  const body = {
    model_id: modelId,
    prompt_cid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    list: key.list,
    until: (await chain.now()) + 1_200,
    client_nonce: highHandle,
  }
  const identity = { ...body, chainId, client: client.address, promptCid: body.prompt_cid }
  const terms = {
    jobId: jobIdOf({ ...identity, clientNonce: body.client_nonce }),
    activator: key.list.body.coordinator,
    until: body.until,
    list: key.list.body.list,
  }
  const commit = () =>
    commitList({
      ...writerOf(clientName),
      contract,
      highHandle,
      lowHandle,
      terms,
      mask: maskOf(key.positions),
    })
  return { api, key, body, commit }
}

it('a job over a pool of 20 on a real chain is for the first nodes of its list, who alone can read the key; the coordinator activates a replacement', async () => {
  const { api, key, body, commit } = await storeUnderTerms()
  const thief = icl.api(walletOf('thief').signer)
  expect(await codeOf(thief.submitJob({ body }))).toBe('list-refused')

  const { jobId, read_token: readToken } = await api.submitJob({ body })
  const view = () => api.getJob({ params: { jobId } }, { readToken })
  expect((await view()).quorum.map(({ node }) => node)).toEqual([...key.first])
  const leader = nodes.find(({ address }) => address === key.first[0])!
  await until(async () => (await view()).reason)
  expect(await offersOf(leader)).toEqual([])
  await commit()
  const reader = writerOf(clientName)
  const readersOf = async (handle: bigint) => {
    const allowed = await Promise.all(
      nodes.map(({ address }) => isAllowed(reader, handle, address)),
    )
    return new Set(nodes.filter((_, index) => allowed[index]).map(({ address }) => address))
  }
  for (const handle of [key.highHandle, key.lowHandle]) {
    expect(await readersOf(handle)).toEqual(new Set(key.first))
  }

  await until(async () => (await offersOf(leader))[0])
  const claimed = await claim(leader)
  await leader.api.abortAssignment({
    body: { jobId, fence: claimed.fence, reason: 'provider-refused' },
  })
  const next = nodes.find(({ address }) => address === key.list.body.list[3])!
  const offer = await until(async () => (await offersOf(next))[0])
  expect(offer).toMatchObject({ jobId, role: 'verifier' })
  expect((await view()).quorum.at(-1)).toMatchObject({ node: next.address, position: 3 })
  expect(await readersOf(key.highHandle)).toEqual(new Set([...key.first, next.address]))
})

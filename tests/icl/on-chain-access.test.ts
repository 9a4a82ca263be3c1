import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createViemChain } from '../../icl/chain/viem.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { grantAccess, storeKey } from '../../lib/chain/prompt-key-store.ts'
import { isAllowed } from '../../lib/chain/task-manager.ts'
import type { Address } from '../../lib/codecs.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { MIN_STAKE, send, startTestChain, type TestChain } from '../contracts/test-chain.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import {
  claim,
  createReplica,
  createShared,
  joinNode,
  modelId,
  offersOf,
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
const client = walletOf('client on chain')
const poolSize = 50

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

/** Previews a quorum of 50 nodes, and stores a key for it on chain. */
async function storeForQuorum() {
  const api = icl.api(client.signer)
  const preview = await api.previewQuorum({
    query: { client: client.address, model_id: modelId, min_tier: 0, verifier_count: 2 },
  })
  const coprocessor = createCofheCoprocessor({
    ...chain.anvil,
    account: client.account,
    clock: systemClock,
  })
  const half = () => BigInt(`0x${Buffer.from(systemRandom.bytes(16)).toString('hex')}`)
  const quorum: readonly Address[] = [preview.leader, ...verifiers]
  const key = await storeKey({
    ...writerOf('client on chain'),
    contract: chain.promptKeyStore,
    ...(await coprocessor.encrypt(half(), half())),
    readers: quorum,
  })
  const body = {
    model_id: modelId,
    prompt_cid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: key.highHandle,
    kpLowHandle: key.lowHandle,
    preview: preview.preview,
    client_nonce: key.highHandle,
  }
  return { api, preview, quorum, key, body }
}

describe('a job over a pool of 50 on a real chain', () => {
  it('is for the previewed quorum, which alone can read the key; a replacement waits for the client', async () => {
    const { api, quorum, key, body } = await storeForQuorum()
    const thief = walletOf('thief')
    const look = await icl.api(thief.signer).previewQuorum({
      query: { client: thief.address, model_id: modelId, min_tier: 0, verifier_count: 2 },
    })
    const stolen = { ...body, preview: look.preview }
    expect(await codeOf(icl.api(thief.signer).submitJob({ body: stolen }))).toBe('not-key-owner')

    const { jobId, read_token: readToken } = await api.submitJob({ body })
    const view = () => api.getJob({ params: { jobId } }, { readToken })
    expect((await view()).quorum.map(({ node }) => node)).toEqual(quorum)
    const reader = writerOf('client on chain')
    const readersOf = async (handle: bigint) => {
      const allowed = await Promise.all(
        nodes.map(({ address }) => isAllowed(reader, handle, address)),
      )
      return new Set(nodes.filter((_, index) => allowed[index]).map(({ address }) => address))
    }
    for (const handle of [key.highHandle, key.lowHandle]) {
      expect(await readersOf(handle)).toEqual(new Set(quorum))
    }

    const leader = nodes.find(({ address }) => address === quorum[0])!
    await until(async () => (await offersOf(leader))[0])
    const claimed = await claim(leader)
    await leader.api.abortAssignment({
      body: { jobId, fence: claimed.fence, reason: 'provider-refused' },
    })
    const waiting = await until(async () => {
      const seen = await view()
      return seen.reason === 'awaiting-grant' ? seen : undefined
    })
    const next = nodes.find(({ address }) => address === waiting.quorum.at(-1)!.node)!
    expect(quorum).not.toContain(next.address)
    expect(await offersOf(next)).toEqual([])
    await grantAccess({
      ...writerOf('client on chain'),
      contract: chain.promptKeyStore,
      ...key,
      reader: next.address,
    })
    const offer = await until(async () => (await offersOf(next))[0])
    expect(offer).toMatchObject({ jobId, role: 'leader' })
    expect((await view()).reason).toBeUndefined()
    expect(await readersOf(key.highHandle)).toEqual(new Set([...quorum, next.address]))
  }, 60_000)
})

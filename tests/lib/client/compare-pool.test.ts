import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { createClientChain } from '../../../lib/client/client-chain.ts'
import { comparePool, describeLeftOut } from '../../../lib/client/compare-pool.ts'
import { infer } from '../../../lib/client/infer.ts'
import { Address } from '../../../lib/codecs.ts'
import type { ListRequest } from '../../../lib/schemas/list.ts'
import { systemClock } from '../../../lib/system.ts'
import { NODES, STRANGER } from '../../contracts/listed-keys.ts'
import { createKeyActions } from '../../contracts/stored-keys.ts'
import { startTestChain } from '../../contracts/test-chain.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { createFakeWorld, pool } from './fake-world.ts'

const chain = await startTestChain()
const keys = createKeyActions(chain)
for (const index of NODES) await keys.registerNode(index)
afterAll(() => chain.stop())

const nodeAt = (index: number) => ({ ...pool[0]!, address: Address.parse(chain.addressOf(index)) })

/** A new process each time: nothing is remembered. */
function compare(...indices: readonly number[]) {
  const { rpcUrl, chainId, accounts } = chain.anvil
  const network = sampleNetwork({ chain_id: chainId })
  const contracts = { ...network.contracts, node_registry: Address.parse(chain.nodeRegistry) }
  const account = privateKeyToAccount(accounts[4]!.privateKey)
  const client = createClientChain({ rpcUrl, network: { ...network, contracts }, account })
  return comparePool({ chain: client, clock: systemClock }, 'pool', indices.map(nodeAt))
}

describe('a pool compared with NodeRegistry', () => {
  it('is told by how many active nodes it leaves out', async () => {
    expect(await compare(...NODES)).toEqual({ nodes: 3, active: 3, leftOut: 0 })
    expect(await compare(NODES[0])).toEqual({ nodes: 1, active: 1, leftOut: 2 })
  })

  it('is refused with a node that has no stake, and without any active one', async () => {
    await expect(compare(NODES[0], STRANGER)).rejects.toMatchObject({ code: 'pool-unstaked' })
    await expect(compare(STRANGER)).rejects.toMatchObject({ code: 'pool-inactive' })
  })
})

describe('a client', () => {
  const model = 'openai:gpt-4o-mini'

  it('hears what the pool leaves out, or that it cannot be known, before it pays', async () => {
    const others = [nodeAddress('e'), nodeAddress('f')]
    const registered = [...pool.map(({ address }) => address), ...others]
    for (const [options, line] of [
      [{ registered }, 'the pool leaves out 2 of 6 active nodes'],
      [{ registered: 'unknown' as const }, expect.stringContaining('does not tell')],
      [{}, undefined],
    ] as const) {
      const { context, callsOf } = await createFakeWorld(options)
      const told: unknown[] = []
      await infer(context, 'Why?', {
        model,
        onPool: (compared) => told.push(describeLeftOut(compared), callsOf('storeKey').length),
      })
      expect(told).toEqual([line, 0])
    }
  })

  it('reads a pool and compares it once for several jobs', async () => {
    const { context, callsOf } = await createFakeWorld()
    const downloads: string[] = []
    const blobs: typeof context.blobs = {
      download: async (cid, signal) => {
        downloads.push(cid)
        return context.blobs.download(cid, signal)
      },
    }
    const inferences = []
    for (let count = 0; count < 3; count++) {
      inferences.push(await infer({ ...context, blobs }, 'Why?', { model }))
    }
    expect(inferences.map(({ status }) => status)).toEqual(['accepted', 'accepted', 'accepted'])
    const { terms } = callsOf('drawList')[0]!.input as ListRequest
    expect(downloads.filter((cid) => cid === terms.pool_cid)).toHaveLength(1)
    expect(callsOf('activeNodes')).toHaveLength(1)
  })
})

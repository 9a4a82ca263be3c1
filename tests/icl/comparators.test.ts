import { describe, expect, it } from 'vitest'
import { ineligibleReasons } from '../../icl/rules/eligibility.ts'
import { noFormerRuns } from '../../icl/rules/runs.ts'
import { newcomer } from '../../lib/reputation.ts'
import { sampleNetwork } from '../sample-network.ts'
import { sampleReading } from '../sample-reading.ts'
import { activeNode } from './fake-chain.ts'
import { startIcl } from './fresh-icl.ts'
import { listedKey } from './test-client.ts'
import { joinNode, modelId, origin, type TestIcl, type TestNode, walletOf } from './test-icl.ts'

const beatWith = ({ clock }: TestIcl, node: TestNode, supported: string[]) =>
  node.api.postHeartbeat({
    body: {
      operator_address: node.address,
      timestamp: Math.floor(clock.now() / 1000) + 1,
      version: '0.0.0',
      free_slots: 2,
      supported_model_ids: [modelId],
      supported_comparators: supported,
    },
  })

const previewOf = (at: TestIcl, comparator?: 'exact' | 'similar/2') => {
  const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
  return at.api().previewQuorum({ query: { ...query, ...(comparator && { comparator }) } })
}

describe('what a prompt needs', () => {
  it('is put only before nodes that said that they take it, which is published', async () => {
    const at = await startIcl()
    const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => joinNode(at, name)))
    const tell = (node: TestNode, parts: string[]) =>
      node.api.postHeartbeat({
        body: {
          operator_address: node.address,
          timestamp: Math.floor(at.clock.now() / 1000),
          version: '0.0.0',
          free_slots: 2,
          supported_model_ids: [modelId],
          model_takes: [{ model_id: modelId, parts, max_output_tokens: 4_096 }],
        },
      })
    await at.clock.advance(1_100)
    const able = nodes.slice(1)
    for (const node of able) await tell(node, ['stop', 'seed', 'later'])
    await tell(nodes[0]!, ['seed'])
    await at.clock.advance(31_000)
    expect((await at.api().getModels({})).models).toEqual([
      { model_id: modelId, nodes: 4, takes: { seed: 4, stop: 3 } },
    ])
    const { list, leader, verifiers } = await listedKey(at, { needs: { parts: ['seed', 'stop'] } })
    expect(list.body.list.toSorted()).toEqual(able.map(({ address }) => address).toSorted())
    expect(list.body.list).toEqual(expect.arrayContaining([leader, ...verifiers]))
    expect((await listedKey(at, { needs: { parts: ['seed'] } })).list.body.list).toHaveLength(4)
    for (const needs of [{ parts: ['names' as const] }, { output_tokens: 5_000 }]) {
      await expect(listedKey(at, { needs })).rejects.toMatchObject({ code: 'not-enough-serving' })
    }
    // One that takes less by now is passed over.
    await at.clock.advance(1_100)
    await tell(able[0]!, [])
    const { passed } = (await listedKey(at, { needs: { parts: ['seed'] } })).list.body
    expect(passed.map(({ reason }) => reason)).toEqual(['no-model'])
  })
})

describe('the comparator of a job', () => {
  it('is done only by nodes that say they can', async () => {
    const at = await startIcl()
    const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => joinNode(at, name)))
    for (const node of nodes) await beatWith(at, node, ['exact', 'later/7'])
    await at.clock.advance(1_100)
    await expect(previewOf(at, 'similar/2')).rejects.toMatchObject({ code: 'not-enough-serving' })
    await expect(previewOf(at, 'exact')).resolves.toBeDefined()
    const able = nodes.slice(1)
    await at.clock.advance(1_100)
    for (const node of able) await beatWith(at, node, ['exact', 'similar/2', 'later/7'])
    await at.clock.advance(1_100)
    const { leader, verifiers } = await listedKey(at, { comparator: 'similar/2' })
    expect(new Set([leader, ...verifiers])).toEqual(new Set(able.map(({ address }) => address)))
  })

  it('is the default for a preview that names none, as it is for the job', async () => {
    const network = sampleNetwork({ public_url: origin, default_comparator: 'similar/2' })
    const at = await startIcl({ network })
    const nodes = await Promise.all(['a', 'b', 'c', 'd'].map((name) => joinNode(at, name)))
    for (const node of nodes) await beatWith(at, node, ['exact'])
    await at.clock.advance(1_100)
    await expect(previewOf(at)).rejects.toMatchObject({ code: 'not-enough-serving' })
    const able = nodes.slice(1)
    await at.clock.advance(1_100)
    for (const node of able) await beatWith(at, node, ['similar/2'])
    await at.clock.advance(1_100)
    expect((await previewOf(at)).comparator).toBe('similar/2')
    const { leader, verifiers } = await listedKey(at)
    expect(new Set([leader, ...verifiers])).toEqual(new Set(able.map(({ address }) => address)))
  })

  it('is exact or similar/2 for a node that does not say', () => {
    const node = {
      address: walletOf('a').address,
      certificate: {
        id: 'x',
        backend: 'mock' as const,
        issuedAt: 0,
        expiresAt: 1e12,
        thumbprint: 't',
        session: { key: 'k', not_after: 1e9, signature: '0x' as const },
        highestTier: 0,
      },
      reading: sampleReading,
      runs: noFormerRuns,
      heartbeatAt: 0,
      polledAt: 0,
      modelIds: [modelId],
      capacity: 1,
      leaving: false,
      standing: newcomer,
    }
    const reasons = (comparator: 'exact' | 'similar/2') =>
      ineligibleReasons(node, activeNode, { minTier: 0, comparator }, 0, [])
    expect(reasons('exact')).toEqual([])
    expect(reasons('similar/2')).toEqual([])
  })
})

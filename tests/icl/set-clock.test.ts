import { describe, expect, it } from 'vitest'
import { cached } from '../../icl/async/cached.ts'
import { createNodeStates } from '../../icl/chain/node-states.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Webhooks } from '../../icl/webhooks/webhooks.ts'
import type { ReadClient } from '../../lib/chain/clients.ts'
import { anAddress } from '../branded.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { useReplicas } from './replica-set.ts'
import { runJob } from './run-job.ts'
import { submit } from './test-client.ts'
import { beThere, createShared, joinNode, joinNodes, modelId } from './test-icl.ts'

const hoursMs = 2 * 3_600_000

/** Ways in which the clock of a machine is set. */
const leaps = [
  ['back', -hoursMs],
  ['ahead', hoursMs],
] as const

describe.each(leaps)('when the clock is set %s', (_, leapMs) => {
  it('what is cached for a second is cached for a second', async () => {
    const clock = createVirtualClock()
    let reads = 0
    const known = cached(clock, 1_000, () => ++reads)
    expect([known.read(), known.read()]).toEqual([1, 1])
    clock.leap(leapMs)
    expect(known.read()).toBe(1)
    await clock.advance(1_000)
    expect(known.read()).toBe(2)
  })

  it('what the chain says of a node is asked for again after 15 s', async () => {
    const clock = createVirtualClock()
    let active = true
    const publicClient = {
      multicall: async () => [{ registeredAt: 1n, active, unbondingAt: 0n, modelTiers: [0] }],
    } as unknown as ReadClient
    const node = `0x${'a'.repeat(40)}` as const
    const nodesOf = createNodeStates(publicClient, anAddress(node), clock)
    expect((await nodesOf([anAddress(node)])).get(anAddress(node))?.active).toBe(true)
    active = false
    clock.leap(leapMs)
    await clock.advance(15_000)
    expect((await nodesOf([anAddress(node)])).get(anAddress(node))?.active).toBe(false)
  })

  it('probes see within seconds that the chain is away', async () => {
    await startIcl()
    const { clock, chain, api } = icl
    expect(await api().getHealth()).toMatchObject({ chain_connected: true })
    clock.leap(leapMs)
    chain.down = new Error('gone')
    await clock.advance(2_000)
    expect(await api().getHealth()).toMatchObject({ chain_connected: false })
    expect((await api().getReadiness()).reasons.join()).toContain('the chain does not respond')
  })

  it('a certificate that another process revoked counts no more', async () => {
    await startIcl()
    const { clock, deps } = icl
    const node = await joinNode(icl, 'n1')
    const found = await deps.store.findNode(node.address)
    const { certificate } = found!.document
    expect(await deps.revocations.covers(certificate)).toBe(false)
    clock.leap(leapMs)
    await deps.store.save({
      kind: 'key',
      key: `revoked:jti:${certificate.id}`,
      value: 'revoked',
      now: clock.now(),
      expiresAt: clock.now() + 10 * hoursMs,
    })
    await clock.advance(1_000)
    expect(await deps.revocations.covers(certificate)).toBe(true)
  })
})

describe('what an ICL whose clock was hours ahead has put off', () => {
  const { start, kill } = useReplicas()

  it.each([
    ['when the clock is right again', false],
    ['when it is right again at the next start', true],
  ])('is done at once %s: results and messages do not wait for as long', async (_, restarts) => {
    const shared = { ...createShared(), store: createMemoryStore() }
    const { clock, chain, store } = shared
    let status = 500
    const webhooks: Webhooks = { allowPrivate: false, send: async () => ({ status }) }
    const icl = await start(shared, 'a', { webhooks })
    const nodes = await joinNodes(icl, 3)
    const { jobId } = await runJob(icl, nodes, ['yes', 'yes', 'yes'], {
      webhook: 'https://receiver.example/',
      beforeVerdicts: () => {
        chain.down = new Error('away')
      },
    })
    clock.leap(hoursMs)
    await clock.advance(5_000)
    const outbox = async () => (await store.findJob(jobId))!.document.outbox
    expect((await outbox()).map(({ effect }) => effect.type)).toEqual(['commit-result', 'notify'])
    clock.leap(-hoursMs)
    if (restarts) {
      kill(icl)
      await start(shared, 'b', { webhooks })
    }
    status = 200
    chain.down = undefined
    await clock.advance(5_000)
    expect(await outbox()).toEqual([])
  })
})

describe('an ICL whose clock was hours ahead', () => {
  const { start, kill } = useReplicas()

  it('and that died leaves its work to another one within seconds', async () => {
    const shared = createShared()
    const { clock, store } = shared
    const first = await start(shared, 'a')
    await clock.advance(2_000)
    clock.leap(hoursMs)
    await clock.advance(10_000)
    kill(first)
    clock.leap(-hoursMs)
    const second = await start(shared, 'b')
    await clock.advance(40_000)
    expect(await store.findKey('leader:effects', clock.now())).toBe('b')
    expect(second.logged.join()).toContain('work taken over')
  })

  it('draws from a pool of the nodes that are there, once it is right', async () => {
    const aheadMs = 140_000
    await startIcl()
    const { clock, api } = icl
    const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
    const early = await joinNodes(icl, 3)
    clock.leap(aheadMs)
    await beThere(icl, early)
    expect(await api().previewQuorum({ query })).toMatchObject({ nodes: 3 })
    clock.leap(-aheadMs)
    const late = await joinNodes(icl, 1, 4)
    await clock.advance(40_000)
    await beThere(icl, [...early, ...late])
    expect(await api().previewQuorum({ query })).toMatchObject({ nodes: 4 })
  })

  it('takes jobs of the same pool, once it is right', async () => {
    const aheadMs = 140_000
    await startIcl()
    const { clock, api } = icl
    const query = { model_id: modelId, min_tier: 0, verifier_count: 2 }
    const nodes = await joinNodes(icl, 3)
    clock.leap(aheadMs)
    await beThere(icl, nodes)
    const before = await api().previewQuorum({ query })
    clock.leap(-aheadMs)
    await clock.advance(40_000)
    await beThere(icl, nodes)
    expect((await api().previewQuorum({ query })).pool_cid).toBe(before.pool_cid)
    expect((await submit(icl)).status).toBe('open')
  })

  it('and that took the leap for an outage excuses no later job, and sees the next outage', async () => {
    const shared = { ...createShared(), store: createMemoryStore() }
    const { clock, store } = shared
    const before = await start(shared, 'a')
    await clock.advance(2_000)
    kill(before)
    clock.leap(hoursMs)
    const after = await start(shared, 'b')
    await clock.advance(2_000)
    clock.leap(-hoursMs)
    await clock.advance(1_000)
    await joinNodes(after, 3)
    const { jobId } = await submit(after)
    await clock.advance(5_000)
    const { createdAt, deadline, events } = (await store.findJob(jobId))!.document
    expect(deadline - createdAt).toBe(600_000)
    expect(events.map(({ type }) => type)).not.toContain('time-away')
    const from = clock.now()
    kill(after)
    await clock.jump(60_000)
    const { deps } = await start(shared, 'c')
    const known = await clock.until(deps.outages.all())
    expect(known.some(({ until }) => until >= from + 60_000 && until <= clock.now())).toBe(true)
  })
})

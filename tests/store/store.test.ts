import { beforeEach, describe, expect, it } from 'vitest'
import { attestedNode, type Certificate } from '../../icl/rules/eligibility.ts'
import type { Job } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Clock } from '../../lib/clock.ts'
import { claimed, nodeA, nodeB, sampleJob } from '../icl/rules/sample-job.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'

/** Every adapter of the port; each has to keep all of the promises below. */
const adapters: Record<string, (clock: Clock) => Store> = {
  memory: createMemoryStore,
}

const certificate: Certificate = {
  id: 'jti',
  backend: 'mock',
  issuedAt: 0,
  expiresAt: 1_000,
  thumbprint: 't',
  session: { key: 'k', not_after: 1, signature: '0x' },
}
const withId = (digit: string, change: Partial<Job> = {}): Job => ({
  ...sampleJob(),
  id: `0x${digit.repeat(64)}`,
  ...change,
})

describe.each(Object.entries(adapters))('the %s store', (_, create) => {
  let clock: VirtualClock
  let store: Store
  beforeEach(() => {
    clock = createVirtualClock()
    store = create(clock)
  })

  it('answers a ping', async () => {
    await store.ping()
  })

  it('takes a job once, and gives back what was put in', async () => {
    const job = withId('1')
    expect(await store.findJob(job.id)).toBeUndefined()
    expect(await store.insertJob(job)).toBe(true)
    expect(await store.insertJob({ ...job, modelId: 'openai:other' })).toBe(false)
    expect((await store.findJob(job.id))?.document).toEqual(job)
  })

  it('replaces a job only at the version that was read', async () => {
    const job = withId('1')
    await store.insertJob(job)
    const { version } = (await store.findJob(job.id))!
    const changes = ['running', 'verifying'].map((phase) =>
      store.replaceJob({ ...job, phase: phase as Job['phase'] }, version),
    )
    expect((await Promise.all(changes)).filter(Boolean)).toHaveLength(1)
    expect(await store.replaceJob(job, version)).toBe(false)
    expect(await store.replaceJob(withId('9'), 1)).toBe(false)
  })

  it('lists what is due, by timer or by effect, the longest overdue first', async () => {
    const outbox = [{ id: 1, effect: { type: 'commit-result' as const }, attempts: 0, dueAt: 5 }]
    await store.insertJob(withId('1', { wakeAt: 10, outbox: [] }))
    await store.insertJob(withId('2', { wakeAt: 1_000, outbox }))
    await store.insertJob(withId('3', { wakeAt: 1_000, outbox: [] }))
    await store.insertJob(withId('4', { wakeAt: undefined, outbox: [] }))
    const ids = async (now: number, limit = 10) =>
      (await store.listDueJobs(now, limit)).map((id) => id[2])
    expect(await ids(4)).toEqual([])
    expect(await ids(10)).toEqual(['2', '1'])
    expect(await ids(10, 1)).toEqual(['2'])
    expect(await ids(1_000)).toEqual(['2', '1', '3'])
  })

  it('knows which jobs take a node time, and how much', async () => {
    const job = claimed(withId('1'), nodeA, 1)
    await store.insertJob(job)
    await store.insertJob({ ...job, id: `0x${'2'.repeat(64)}`, phase: 'cancelled' })
    expect((await store.listJobsOfNode(nodeA)).map(({ id }) => id[2])).toEqual(['1'])
    expect(await store.listJobsOfNode(nodeB)).toEqual([])
    const busy = await store.countBusySlots()
    expect(busy.get(nodeA)).toEqual({ offered: 0, claimed: 1 })
    expect(busy.get(nodeB)).toBeUndefined()
  })

  it('counts the jobs of a client', async () => {
    await store.insertJob(withId('1', { createdAt: 5 }))
    await store.insertJob(withId('2', { createdAt: 10, phase: 'accepted' }))
    const { client } = sampleJob()
    expect(await store.countJobsOfClient(client, 0)).toBe(2)
    expect(await store.countJobsOfClient(client, 6)).toBe(1)
    expect(await store.countUnsettledJobsOfClient(client)).toBe(1)
    expect(await store.countJobsOfClient(nodeA, 0)).toBe(0)
  })

  it('keeps nodes like jobs, and lists those whose certificate lasts, by address', async () => {
    const [b, a] = [nodeB, nodeA].map((address) => attestedNode(address, certificate))
    expect([await store.insertNode(b!), await store.insertNode(a!)]).toEqual([true, true])
    expect(await store.insertNode(a!)).toBe(false)
    const { version } = (await store.findNode(nodeA))!
    expect(await store.replaceNode({ ...a!, capacity: 3 }, version)).toBe(true)
    expect(await store.replaceNode(a!, version)).toBe(false)
    expect((await store.listNodes(999)).map(({ address }) => address)).toEqual([nodeA, nodeB])
    expect(await store.listNodes(1_000)).toEqual([])
  })

  it('records an event about a node once', async () => {
    const event = {
      id: 'e1',
      node: nodeA,
      jobId: sampleJob().id,
      code: 'result-accepted' as const,
      at: 1,
    }
    expect(await store.insertReputationEvent(event)).toBe(true)
    expect(await store.insertReputationEvent({ ...event, at: 2 })).toBe(false)
    await store.insertReputationEvent({ ...event, id: 'e2', node: nodeB })
    expect(await store.listReputationEvents(nodeA)).toEqual([event])
  })

  it('gives a key to one of many who want it, until it expires', async () => {
    const end = clock.now() + 1_000
    const wants = ['x', 'y', 'z'].map((value) => store.claimKey('key', value, end))
    const [holder, ...others] = await Promise.all(wants)
    expect(new Set([holder, ...others]).size).toBe(1)
    expect(await store.findKey('key')).toBe(holder)
    expect(await store.findKey('other')).toBeUndefined()
    await clock.advance(1_000)
    expect(await store.findKey('key')).toBeUndefined()
    expect(await store.claimKey('key', 'later', end + 5_000)).toBe('later')
  })
})

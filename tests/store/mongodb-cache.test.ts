import { MongoClient, Timestamp } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLeadership } from '../../icl/background/leadership.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { createSharedStore } from '../../icl/store/mongodb/shared.ts'
import type { Store } from '../../icl/store/store.ts'
import type { MonotonicMs } from '../../lib/clock.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { jobOf, nodeOf } from './suite.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'
import { type Fate, startProxy, type WireProxy } from './wire-server/proxy.ts'

const missing = await whyNoWireServer()
const timeouts = { selectionMs: 2_000, answerMs: 15_000, retryWithinMs: 2_000 }
const { id } = jobOf('1')

describe('a MongoDB that several ICLs share', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let proxy: WireProxy
  let url: string
  let store: Store
  let other: Store
  let passedMs = 0
  let sent: string[] = []
  // However long a busy machine takes, only a test passes time.
  const clock = {
    ...systemClock,
    monotonic: () => passedMs as unknown as MonotonicMs,
  }
  beforeAll(async () => {
    server = await openWireServer()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    proxy = await startProxy(server.upstream)
    url = server.freshUrl()
    const proxied = `mongodb://127.0.0.1:${proxy.port}${new URL(url).pathname}?directConnection=true`
    store = createSharedStore({ url: proxied, clock, random: systemRandom, timeouts })
    other = createSharedStore({ url, clock, random: systemRandom, timeouts })
    await save(1, 0)
    await save(2, 1)
    await minTier()
    proxy.fateOf = (command) => {
      if (command !== 'hello') sent.push(command)
      return 'forward'
    }
    sent = []
  })
  afterEach(async () => {
    await Promise.all([store.close(), other.close()])
    await proxy.close()
  })
  const save = (minTier: number, base: number, by = other) =>
    by.save({ kind: 'job', job: jobOf('1', { minTier }), base })
  const minTier = async (by = store) => {
    by.renew?.()
    return (await by.findJob(id))?.document.minTier
  }
  const rows = async <T>(work: (client: MongoClient) => Promise<T>): Promise<T> => {
    const client = new MongoClient(url)
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }

  it('is asked once for all reads of requests that come together, and they find what others saved before', async () => {
    await save(3, 2)
    await other.save({ kind: 'node', node: nodeOf(nodeA), base: 0 })
    store.renew?.()
    store.renew?.()
    const [job, listed, node] = await Promise.all([
      store.findJob(id),
      store.listDue('tick', Number.MAX_SAFE_INTEGER, 9),
      store.findNode(nodeA),
    ])
    expect([job?.document.minTier, listed, node?.version]).toEqual([3, [id], 1])
    expect((await store.findJob(id))?.version).toBe(3)
    expect(sent).toEqual(['find'])
  })

  it('is not asked for what this ICL saved itself', async () => {
    expect(await save(3, 2, store)).toBe(true)
    sent = []
    expect((await store.findJob(id))?.document.minTier).toBe(3)
    expect(sent).toEqual([])
    expect(await minTier(other)).toBe(3)
  })

  it('is asked anew after a save that another was faster with', async () => {
    await save(3, 2)
    expect(await save(4, 2, store)).toBe(false)
    expect((await store.findJob(id))?.document.minTier).toBe(3)
    expect(await save(4, 3, store)).toBe(true)
  })

  it('refuses a save on top of a version that was undone and made anew by another', async () => {
    // A failing primary has lost version 2, and a later save has made another one, which no look has brought yet.
    await rows((client) =>
      client
        .db()
        .collection<{ _id: string }>('records')
        .updateOne(
          { _id: `job:${id}` },
          { $set: { writeId: 'other', changed: new Timestamp({ t: 1, i: 1 }) } },
        ),
    )
    expect(await save(3, 2, store)).toBe(false)
    expect((await store.findJob(id))?.version).toBe(2)
    expect(await save(3, 2, store)).toBe(true)
  })

  it('does not show a job that another process erased', async () => {
    const over = { phase: 'cancelled', settledAt: 5, tickAt: undefined, outbox: [] } as const
    expect(await other.save({ kind: 'job', job: jobOf('1', over), base: 2 })).toBe(true)
    store.renew?.()
    expect((await store.findJob(id))?.document.phase).toBe('cancelled')
    const { cursor } = await store.listChanges(undefined)
    expect((await store.findJob(id))?.version).toBe(3)
    expect((await store.listChanges(cursor)).jobs).toEqual([])
    expect(await other.erase({ kind: 'job', id })).toBe(true)
    store.renew?.()
    expect(await store.findJob(id)).toBeUndefined()
  })

  it('counts a job all the time while the memory is compared with it', async () => {
    await rows((client) =>
      client
        .db()
        .collection<{ _id: string }>('records')
        .updateOne({ _id: `job:${id}` }, { $set: { writeId: 'other' } }),
    )
    passedMs += 61_000
    const counts: number[] = []
    proxy.fateOf = async (): Promise<Fate> => {
      counts.push(await store.countJobsOfClient(jobOf('1').client, 'unsettled'))
      return 'forward'
    }
    await store.listDue('tick', 0, 9)
    expect(counts.length).toBeGreaterThan(1)
    expect(counts).toEqual(counts.map(() => 1))
  })

  it('is asked after a pause for jobs that are not over, and not for every save since', async () => {
    const over = { phase: 'cancelled', settledAt: 5, tickAt: undefined, outbox: [] } as const
    const [second, third] = [jobOf('2', over), jobOf('3')]
    const setBack = (jobId: string, seconds: number) =>
      rows(async (client) => {
        const records = client.db().collection<{ _id: string; changed: Timestamp }>('records')
        const { t } = (await records.findOne({ _id: `job:${jobId}` }))!.changed
        const changed = new Timestamp({ t: t - seconds, i: 1 })
        await records.updateOne({ _id: `job:${jobId}` }, { $set: { changed } })
      })
    await setBack(id, 1_000)
    const { cursor } = await store.listChanges(undefined)
    await other.save({ kind: 'job', job: second, base: 0 })
    await setBack(second.id, 500)
    await other.save({ kind: 'job', job: third, base: 0 })
    passedMs += 61_000
    const { jobs } = await store.listChanges(cursor)
    expect(new Set(jobs.map((job) => job.id))).toEqual(new Set([third.id]))
    expect((await store.findJob(second.id))?.version).toBe(1)
  })

  it('shows within a minute what no look brings: a job that was erased, and a save with an early stamp', async () => {
    await rows(async (client) => {
      const records = client.db().collection<{ _id: string }>('records')
      const changed = new Timestamp({ t: 1, i: 1 })
      const second = jobOf('2', { minTier: 5 })
      await save(1, 0, other)
      await other.save({ kind: 'job', job: second, base: 0 })
      await records.updateOne({ _id: `job:${second.id}` }, { $set: { changed } })
      await records.deleteOne({ _id: `job:${id}` })
      expect(await minTier()).toBe(2)
      passedMs += 61_000
      expect(await minTier()).toBeUndefined()
      expect(await store.listDue('tick', Number.MAX_SAFE_INTEGER, 9)).toEqual([second.id])
    })
  })

  it('is asked for a save that became readable only while no look was made', async () => {
    const second = jobOf('2')
    await other.save({ kind: 'job', job: second, base: 0 })
    expect(await minTier()).toBe(2)
    await save(3, 2)
    await rows(async (client) => {
      const records = client.db().collection<{ _id: string; changed: Timestamp }>('records')
      const changedBy = async (_id: string, changed: Timestamp) =>
        (await records.findOneAndUpdate({ _id }, { $set: { changed } }))!.changed
      // As if the save were still under way: its stamp is earlier than that of the save after it.
      const stamp = await changedBy(`job:${id}`, new Timestamp({ t: 1, i: 1 }))
      await other.save({ kind: 'job', job: { ...second, minTier: 4 }, base: 1 })
      expect(await minTier()).toBe(2)
      await changedBy(`job:${id}`, stamp)
    })
    passedMs += 10_000
    expect(await minTier()).toBe(3)
  })

  it('is asked at most once a second while nothing changes, and brings each save once', async () => {
    passedMs += 20_000
    await store.listDue('tick', 0, 9)
    sent = []
    for (let second = 0; second < 10; second++) {
      for (let turn = 0; turn < 4; turn++) await store.listDue('effect', 0, 9)
      const { cursor } = await store.listChanges(undefined)
      passedMs += 1_000
      expect((await store.listChanges(cursor)).jobs).toEqual([])
    }
    expect(sent.length).toBeLessThanOrEqual(13)
    const { cursor } = await store.listChanges(undefined)
    await save(3, 2)
    passedMs += 1_000
    const { jobs, cursor: next } = await store.listChanges(cursor)
    expect(jobs.map(({ version }) => version)).toEqual([3])
    passedMs += 20_000
    expect((await store.listChanges(next)).jobs).toEqual([])
  })

  it('is asked by a replica that takes over the work of another', async () => {
    expect(await minTier()).toBe(2)
    await save(3, 2)
    const begun = Promise.withResolvers<void>()
    const log = { info: () => begun.resolve(), warn: begun.reject }
    const deps = { store, clock, log, replicaId: 'b' }
    const { keep } = createLeadership(deps as unknown as Dependencies, 'leader')
    const end = new AbortController()
    const kept = keep(end.signal)
    await begun.promise
    expect((await store.findJob(id))?.version).toBe(3)
    end.abort()
    await kept
  })

  it('fails the reads of a request while it is away, and is read again afterwards', async () => {
    proxy.takeAway()
    expect(await codeOf(minTier())).toBe('unavailable')
    proxy.restore()
    await save(3, 2)
    expect(await minTier()).toBe(3)
  })
})

import { describe, expect, it, vi } from 'vitest'
import { isOfTheMoment } from '../../icl/admin/backup-lines.ts'
import { eraseClientData, findClientData } from '../../icl/admin/client-data.ts'
import { joinReplicas } from '../../icl/records/replicas.ts'
import type { Client } from '../../icl/rules/client.ts'
import { attestedNode, type Certificate } from '../../icl/rules/eligibility.ts'
import type { Job } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store, StoreRecord, Write } from '../../icl/store/store.ts'
import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { emptyFold } from '../../lib/reputation.ts'
import { systemRandom } from '../../lib/system.ts'
import { aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { createFakeChain } from '../icl/fake-chain.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { runJob } from '../icl/run-job.ts'
import { createReplica, joinNode, walletOf } from '../icl/test-icl.ts'
import { sampleReading } from '../sample-reading.ts'
import {
  type BridgeWorld,
  createBridgeWorld,
  createCopyDisk,
  decoded,
  jobOf,
} from './bridge-world.ts'
import { createCutStore } from './cut-store.ts'

const unavailable = { code: 'unavailable', retryAfterSeconds: 5 }
const minuteMs = 60_000
const connected = { connected: true, writable: true, reasons: [] }
const one = jobOf('1')
const insert = (store: Pick<Store, 'save'>, digit: string, change: Partial<Job> = {}) =>
  store.save({ kind: 'job', job: jobOf(digit, change), base: 0 })
const event = (id: string) =>
  ({
    kind: 'event',
    event: { id, node: nodeA, jobId: one.id, code: 'answer-delivered', at: 1 },
  }) as const

/** Saves what `change` makes of a job that is there. */
async function update(store: Store, id: JobId, change: Partial<Job>): Promise<boolean> {
  const { document, version } = (await store.findJob(id))!
  return store.save({ kind: 'job', job: { ...document, ...change }, base: version })
}

async function start(): Promise<{ world: BridgeWorld; store: Store }> {
  const world = createBridgeWorld()
  return { world, store: await world.start() }
}

describe('an ICL that starts while its database is away', () => {
  it('serves a job from end to end, and the database has it when it is back', async () => {
    const world = createBridgeWorld()
    world.connection.cut = 'before'
    const store = await world.start()
    expect(store.status()).toMatchObject({ connected: false, writable: true, partial: true })
    const icl = await createReplica({ clock: world.clock, chain: createFakeChain(), store })
    const nodes = []
    for (const name of ['n1', 'n2', 'n3']) nodes.push(await joinNode(icl, name))
    const ran = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    expect((await ran.view()).status).toBe('accepted')
    expect(await world.database.findJob(ran.jobId)).toBeUndefined()
    const unknown = { params: { jobId: aJobId(`0x${'7'.repeat(64)}`) } }
    const ask = () => icl.api(walletOf('client').signer).getJob(unknown)
    expect(await codeOf(ask())).toBe('unavailable')
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    expect(store.status()).toEqual(connected)
    expect((await world.database.findJob(ran.jobId))?.document.phase).toBe('accepted')
    expect(world.disk.waiting()).toBe(0)
    expect(await codeOf(ask())).toBe('job-not-found')
    await icl.stop()
  })

  it('says in its log why the database does not respond', async () => {
    const world = createBridgeWorld()
    const why = "MongoDB refuses this ICL's user or password"
    await world.start({ open: () => Promise.reject(new ProblemError('unavailable', why)) })
    await world.clock.advance(1_000)
    for (const message of ['does not respond yet', 'still does not respond']) {
      expect(world.logged.find((line) => line.includes(message))).toContain(why)
    }
  })

  it('does not say that a list is whole, or that a blob is not there', async () => {
    const world = createBridgeWorld()
    world.connection.cut = 'before'
    const store = await world.start()
    await expect(store.listJobs({ limit: 9 })).rejects.toMatchObject(unavailable)
    await expect(store.listReputationEvents(nodeA, { limit: 1_000 })).rejects.toMatchObject(
      unavailable,
    )
    await expect(store.findBlob('c')).rejects.toMatchObject(unavailable)
  })
})

describe('a store whose database goes away', () => {
  it('continues from its copy, and brings the database up to date when it is back', async () => {
    const world = createBridgeWorld()
    await insert(world.database, '3', { minTier: 3 })
    const store = await world.start()
    await insert(store, '1')
    world.connection.cut = 'before'
    expect((await store.findJob(jobOf('3').id))?.document.minTier).toBe(3)
    expect(await update(store, one.id, { minTier: 4 })).toBe(true)
    expect(await update(store, one.id, { minTier: 5 })).toBe(true)
    expect(await insert(store, '2')).toBe(true)
    expect(await insert(store, '2')).toBe(false)
    expect(store.status()).toEqual({
      connected: false,
      writable: true,
      reasons: ['the database does not respond: working from the local copy; 3 saves wait'],
    })
    await store.ping()
    expect(await store.findJob(jobOf('9').id)).toBeUndefined()
    expect((await world.database.findJob(one.id))?.version).toBe(1)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status()).toEqual(connected)
    expect(await world.database.findJob(one.id)).toMatchObject({
      document: { minTier: 5 },
      version: 3,
    })
    expect(await update(store, one.id, { minTier: 6 })).toBe(true)
  })

  it('continues from a save that failed for another reason after the database had done it', async () => {
    for (const base of [0, 1]) {
      const world = createBridgeWorld()
      const { store: reached } = world.connection
      let failures = 0
      const saveAll: Store['saveAll'] = async (writes, id) => {
        const refused = await reached.saveAll(writes, id)
        if (failures-- > 0) throw new Error('operation was interrupted')
        return refused
      }
      const store = await world.start({ open: async () => ({ ...reached, saveAll }) })
      if (base === 1) await insert(store, '1')
      failures = 1
      expect(await store.save({ kind: 'job', job: one, base })).toBe(true)
      world.connection.cut = 'before'
      expect(await update(store, one.id, { minTier: 5 })).toBe(true)
      world.connection.cut = 'none'
      await world.clock.advance(10_000)
      const found = await world.database.findJob(one.id)
      expect(found).toEqual({ document: { ...one, minTier: 5 }, version: base + 2 })
    }
  })

  it('does not repeat a save without a copy, as another replica may have saved on top of it', async () => {
    const world = createBridgeWorld()
    const { store: reached } = world.connection
    let sent = 0
    const saveAll: Store['saveAll'] = async (writes, id) => {
      sent++
      await reached.saveAll(writes, id)
      throw new Error('operation was interrupted')
    }
    const open = async () => ({ ...reached, saveAll })
    const store = await world.start({ copy: undefined, open })
    await expect(store.save({ kind: 'job', job: one, base: 0 })).rejects.toThrow('interrupted')
    expect(sent).toBe(1)
  })

  it('continues after a restart with what it had', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    await update(store, one.id, { minTier: 4 })
    world.crash()
    world.connection.cut = 'before'
    const second = await world.start()
    expect((await second.findJob(one.id))?.document.minTier).toBe(4)
    expect(await update(second, one.id, { minTier: 5 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(5)
  })

  it('says that saves are replayed, and how many wait', async () => {
    const { world, store } = await start()
    const slow = createCutStore({
      ...world.database,
      status: () => connected,
      saveAll: async (writes, id) => {
        await world.clock.sleep(5_000)
        return world.database.saveAll(writes, id)
      },
    })
    world.connection.cut = 'before'
    for (const minTier of [1, 2]) {
      await (minTier === 1 ? insert(store, '1') : update(store, one.id, { minTier }))
    }
    world.crash()
    world.connection = slow
    const opening = world.start()
    const second = await opening
    expect(second.status()).toEqual(connected)
    expect(world.logged.join()).toContain('Saves are replayed {"replayed":0,"waiting":2}')
  })

  it('replays a key once that was renewed every second', async () => {
    const { world, store } = await start()
    world.connection.cut = 'before'
    for (let second = 0; second < 100; second++) {
      const now = world.clock.now() + second * 1_000
      await store.save({ kind: 'key', key: 'k', value: 'v', now, expiresAt: now + minuteMs })
    }
    expect(world.disk.waiting()).toBe(1)
  })

  it('tells of every change across the absence', async () => {
    const { world, store } = await start()
    let { cursor } = await store.listChanges(undefined)
    const changed = async () => {
      const changes = await store.listChanges(cursor)
      cursor = changes.cursor
      return new Set(changes.jobs.map(({ id }) => id[2]))
    }
    await insert(store, '2')
    world.connection.cut = 'before'
    await insert(store, '3')
    expect([...(await changed())]).toEqual(expect.arrayContaining(['2', '3']))
    await insert(store, '4')
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    await insert(store, '5')
    expect([...(await changed())]).toEqual(expect.arrayContaining(['4', '5']))
    await insert(store, '6')
    expect([...(await changed())]).toEqual(['6'])
  })

  it('takes no saves while its disk takes none, shows nothing of them, and continues when there is room', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    await insert(store, '2')
    world.disk.isFull = true
    await expect(update(store, one.id, { minTier: 4 })).rejects.toMatchObject({
      code: 'unavailable',
    })
    expect((await store.findJob(one.id))?.document.minTier).toBe(one.minTier)
    world.disk.isFull = false
    expect(await update(store, one.id, { minTier: 5 })).toBe(true)
  })
})

it('a save is one commit of the local copy while the database is away', async () => {
  const { world, store } = await start()
  const run = vi.spyOn(world.disk.open().store.db, 'exec')
  const commitsDuring = async (save: () => Promise<unknown>) => {
    run.mockClear()
    await save()
    return run.mock.calls.filter(([sql]) => sql === 'COMMIT').length
  }
  const writes = (digit: string): Write[] => [
    { kind: 'key', key: `k${digit}`, value: 'v', now: 0, expiresAt: 1e15 },
    { kind: 'job', job: jobOf(digit), base: 0 },
  ]
  world.connection.cut = 'before'
  await store.saveAll(writes('3'))
  expect(await commitsDuring(() => store.saveAll(writes('4')))).toBe(1)
})

describe('a replay', () => {
  const saveTimes = async (store: Store, times: number) => {
    for (let count = 0; count < times; count++) {
      const { document, version: base } = (await store.findJob(one.id))!
      const minTier = document.minTier + 1
      const writes = count % 4 === 0 ? [event(`e${base}`)] : []
      await store.saveAll([...writes, { kind: 'job', job: { ...document, minTier }, base }])
    }
  }
  const counting = (world: BridgeWorld): string[] => {
    const saves: string[] = []
    world.connection.cut = (name) => {
      if (name.startsWith('save')) saves.push(name)
      return 'none'
    }
    return saves
  }

  it('brings a document to its last version with one save, together with what was saved with it', async () => {
    const { world, store } = await start()
    await insert(store, '1', { minTier: 1 })
    world.connection.cut = 'before'
    await saveTimes(store, 20)
    await insert(store, '2')
    const saves = counting(world)
    await world.clock.advance(10_000)
    expect(store.status()).toEqual(connected)
    expect(saves.filter((name) => name === 'saveAll')).toHaveLength(2)
    expect(await world.database.findJob(one.id)).toMatchObject({
      document: { minTier: 21 },
      version: 21,
    })
    expect(await world.database.listReputationEvents(nodeA, { limit: 1_000 })).toHaveLength(5)
    expect(await store.findJob(one.id)).toEqual(await world.database.findJob(one.id))
  })

  it('continues after a kill where the database is, whether that had heard of the last save or not', async () => {
    for (const cut of ['after', 'before'] as const) {
      const { world, store } = await start()
      await insert(store, '1', { minTier: 1 })
      world.connection.cut = 'before'
      await saveTimes(store, 5)
      world.connection.cut = (name) => (name === 'saveAll' ? cut : 'none')
      await world.clock.advance(1_000)
      world.crash()
      world.connection.cut = 'before'
      const second = await world.start()
      await saveTimes(second, 5)
      world.connection.cut = 'none'
      await world.clock.advance(10_000)
      expect(await world.database.findJob(one.id)).toMatchObject({
        document: { minTier: 11 },
        version: 11,
      })
      expect(await world.database.listReputationEvents(nodeA, { limit: 1_000 })).toHaveLength(4)
      expect(world.logged.join()).not.toContain('lost against')
    }
  })

  it('has a save done that the database had or had not, however it ends when its connection is closed', async () => {
    for (const isDone of [true, false]) {
      const world = createBridgeWorld()
      const ended = Promise.withResolvers<undefined>()
      const sent = Promise.withResolvers<void>()
      let sends = 0
      const { store: reached } = world.connection
      const saveAll: Store['saveAll'] = async (writes, id) => {
        if (++sends !== 2) return reached.saveAll(writes, id)
        if (isDone) await world.database.saveAll(writes, id)
        sent.resolve()
        return ended.promise
      }
      const close = async () => ended.reject(new Error('Cannot use a session that has ended'))
      const open = async () => ({ ...reached, saveAll, close })
      const store = await world.start({ open })
      await insert(store, '1')
      const job = { kind: 'job', job: { ...one, minTier: 5 }, base: 1 } as const
      const saved = store.saveAll([event('e'), job])
      await sent.promise
      world.connection.cut = 'before'
      await store.ping()
      expect(await saved).toBeUndefined()
      expect(await update(store, one.id, { minTier: 6 })).toBe(true)
      world.connection.cut = 'none'
      await world.clock.advance(10_000)
      const found = await world.database.findJob(one.id)
      expect(found).toMatchObject({ document: { minTier: 6 }, version: 3 })
      expect(await world.database.listReputationEvents(nodeA, { limit: 9 })).toHaveLength(1)
    }
  })

  it('sends a save that is judged while others are replayed before those on top of it', async () => {
    for (const base of [0, 1]) {
      const { world, store } = await start()
      if (base === 1) await insert(store, '1')
      world.connection.cut = 'silent'
      const saved = store.save({ kind: 'job', job: one, base })
      await world.clock.advance(0)
      world.connection.cut = 'before'
      for (let count = 0; count < 200; count++) await store.save(event(`e${count}`))
      await world.clock.advance(5_000)
      world.lateMs = 300
      world.connection.cut = (name) => (name === 'saveAll' ? 'late' : 'none')
      const done = (async () => {
        expect(await saved).toBe(true)
        expect(store.status().connected).toBe(false)
        for (const minTier of [3, 4]) expect(await update(store, one.id, { minTier })).toBe(true)
      })()
      await world.clock.advance(60_000)
      await done
      const found = await world.database.findJob(one.id)
      expect(found).toEqual({ document: { ...one, minTier: 4 }, version: base + 3 })
      expect(store.status()).toEqual(connected)
      expect(world.logged.join()).not.toMatch(/had lost|lost against/)
    }
  })

  it('brings back a job that the database has lost', async () => {
    const { world, store } = await start()
    const over = { phase: 'accepted', settledAt: 1, outbox: [] } as const
    await insert(store, '1', over)
    world.connection.cut = 'before'
    // One save is sent, and so merged with nothing.
    for (const minTier of [2, 3, 4]) expect(await update(store, one.id, { minTier })).toBe(true)
    expect(await world.database.erase({ kind: 'job', id: one.id })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(world.logged.join()).toContain('had lost a job')
    const found = await world.database.findJob(one.id)
    expect(found).toMatchObject({ document: { minTier: 4 }, version: 4 })
    expect(await update(store, one.id, { minTier: 5 })).toBe(true)
    expect(world.disk.waiting()).toBe(0)
  })

  it('that is refused as a whole and then cut off leaves nothing of it out', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    // Sent before it is known that the database is away, and so merged with nothing.
    await insert(store, '2')
    const key = { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 1e15 } as const
    await store.saveAll([key, { kind: 'job', job: one, base: 1 }])
    await store.saveAll([event('e1'), { kind: 'job', job: one, base: 2 }])
    await world.database.save({ ...key, value: 'another' })
    let saves = 0
    world.connection.cut = (name) => (name === 'save' && ++saves === 3 ? 'before' : 'none')
    await world.clock.advance(20_000)
    expect(saves).toBeGreaterThan(2)
    expect(store.status()).toEqual(connected)
    expect((await world.database.findJob(one.id))?.version).toBe(3)
    expect(await world.database.listReputationEvents(nodeA, { limit: 9 })).toHaveLength(1)
  })
})

describe('a replayed document', () => {
  it('loses as a whole: no later save of it comes on top of the one that is there', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    await update(store, one.id, { minTier: 4 })
    // The first is sent before the others are made: they are not merged.
    world.connection.cut = (name) => (name === 'saveAll' ? 'before' : 'none')
    await world.clock.advance(1_000)
    world.connection.cut = 'before'
    for (const minTier of [5, 6, 7, 8]) await update(store, one.id, { minTier })
    const { version: base } = (await world.database.findJob(one.id))!
    await world.database.save({ kind: 'job', job: { ...one, minTier: 9 }, base })
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    const found = (await world.database.findJob(one.id))!
    expect(found.document.minTier).toBe(9)
    expect(found.document.events.filter(({ type }) => type === 'outage-lost')).toHaveLength(1)
    expect(await store.findJob(one.id)).toEqual(found)
    expect(await update(store, one.id, { minTier: 10 })).toBe(true)
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(10)
  })

  it('loses against one that is there, whose history says so', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    for (const minTier of [4, 5]) await update(store, one.id, { minTier })
    await insert(store, '2')
    const { version: base } = (await world.database.findJob(one.id))!
    await world.database.save({ kind: 'job', job: { ...one, minTier: 9 }, base })
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    const found = (await world.database.findJob(one.id))!.document
    expect(found.minTier).toBe(9)
    expect(found.events.filter(({ type }) => type === 'outage-lost')).toHaveLength(1)
    expect(await store.findJob(one.id)).toMatchObject({ document: { minTier: 9 } })
    expect(await world.database.findJob(jobOf('2').id)).toBeDefined()
    expect(world.logged.filter((line) => line.includes('lost against'))).toHaveLength(1)
  })

  it('of a node loses, whose events are counted anew, for they are saved', async () => {
    const { world, store } = await start()
    const node = attestedNode(nodeA, { expiresAt: 1e15 } as Certificate, sampleReading)
    await store.save({ kind: 'node', node, base: 0 })
    world.connection.cut = 'before'
    await store.saveAll([event('e1'), { kind: 'node', node, base: 1 }])
    const folded = { ...emptyFold, before: 1e9 }
    await world.database.save({ kind: 'node', node: { ...node, folded }, base: 1 })
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(await world.database.listReputationEvents(nodeA, { limit: 9 })).toHaveLength(1)
    expect((await world.database.findNode(nodeA))?.document).toEqual({ ...node, folded: undefined })
  })

  it('does not go into another database', async () => {
    const { world, store } = await start()
    world.connection.cut = 'before'
    await insert(store, '1')
    world.crash()
    const other = createBridgeWorld()
    const moved = await other.start({ copy: world.disk.open() })
    expect(moved.status()).toMatchObject({
      writable: false,
      reasons: ['the database is not the one that the local copy is of'],
    })
    expect(await other.database.findJob(one.id)).toBeUndefined()
    expect(world.disk.waiting()).toBe(1)
  })
})

describe('a store with others on its database', () => {
  it('knows what a command of the operator changed', async () => {
    const { world, store } = await start()
    const key = { kind: 'key', key: 'ban:a', value: 'v', now: 0, expiresAt: 1e15 } as const
    await store.save(key)
    await world.database.save({ ...key, kind: 'release-key' })
    await world.database.save({ ...key, key: 'ban:b' })
    await joinReplicas(world.database, 'guest', world.clock.now())
    await world.clock.advance(10_000)
    world.connection.cut = 'before'
    expect((await store.listKeys('ban:', 0)).map(({ key: name }) => name)).toEqual(['ban:b'])
  })

  for (const how of ['stopped', 'killed']) {
    it(`forgets what a restored database does not have, after the ICL was ${how}`, async () => {
      const { world, store } = await start()
      await insert(store, '1')
      const backup = createMemoryStore()
      for await (const record of world.database.scan()) {
        if (!isOfTheMoment(record)) await backup.restore(record)
      }
      await insert(store, '2')
      if (how === 'stopped') await world.clock.until(store.close())
      else world.crash()
      world.connection = createCutStore({ ...backup, status: () => connected })
      const later = await world.start()
      await world.clock.advance(60_000)
      world.connection.cut = 'before'
      expect(await later.findJob(one.id)).toBeDefined()
      expect(await later.findJob(jobOf('2').id)).toBeUndefined()
    })
  }

  it('forgets what a command of the operator erased, and keeps the rest', async () => {
    const { world, store } = await start()
    const over = { phase: 'cancelled', settledAt: 1, outbox: [] } as const
    const other = { client: nodeA, promptCid: 'd' }
    await insert(store, '1', { ...over, promptCid: 'c' })
    await insert(store, '2', { ...over, ...other })
    await insert(store, '3', other)
    const client: Client = { address: one.client, firstAcceptedAt: 1 }
    await store.save({ kind: 'client', client, base: 0 })
    for (const cid of ['c', 'd']) {
      const bytes = new TextEncoder().encode(cid)
      await store.save({ kind: 'blob', cid, bytes, uploader: 'wallet', until: 1e15 })
    }
    const { database, clock } = world
    const admin = {
      store: { ...database, shared: true },
      clock,
      random: systemRandom,
      operator: 'o',
    }
    await eraseClientData(admin, await findClientData(admin, one.client))
    await joinReplicas(world.database, 'guest', world.clock.now())
    await world.clock.advance(10_000)
    world.connection.cut = 'before'
    expect(await store.findJob(one.id)).toBeUndefined()
    expect(await store.findClient(one.client)).toBeUndefined()
    expect(await codeOf(store.findBlob('c'))).toBe('unavailable')
    for (const digit of ['2', '3']) expect(await store.findJob(jobOf(digit).id)).toBeDefined()
    expect(await store.findBlob('d')).toBeDefined()
  })

  it('has no copy, and waits while the database is away', async () => {
    const world = createBridgeWorld()
    const store = await world.start({ copy: undefined })
    expect(await insert(store, '1')).toBe(true)
    world.connection.cut = 'before'
    await expect(insert(store, '2')).rejects.toMatchObject({ code: 'unavailable' })
    await expect(store.findJob(one.id)).rejects.toMatchObject(unavailable)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect((await store.findJob(one.id))?.version).toBe(1)
  })
})

/** Runs work in each fill, right before it reads a key. */
function beforeKeys(world: BridgeWorld, work: () => Promise<void>): void {
  world.connection = createCutStore({
    ...world.database,
    status: () => connected,
    scan: async function* () {
      for await (const record of world.database.scan()) {
        if (record.kind === 'key') await work()
        yield record
      }
    },
  })
}

it('a copy that is filled does not take what was saved meanwhile for older than what is read', async () => {
  const world = createBridgeWorld()
  await insert(world.database, '1')
  await world.database.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 1e15 })
  const disk = createCopyDisk()
  let store: Store | undefined
  const during = async () => {
    await store?.save({ kind: 'release-key', key: 'k', value: 'v' })
  }
  beforeKeys(world, during)
  store = await world.start({ copy: disk.open() })
  await joinReplicas(world.database, 'guest', world.clock.now())
  await world.clock.advance(10_000)
  world.connection.cut = 'before'
  expect(await store.findKey('k', 0)).toBeUndefined()
})

it('a fill during which the database goes away keeps what is saved in the copy meanwhile', async () => {
  const world = createBridgeWorld()
  await insert(world.database, '1')
  await world.database.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 1e15 })
  let duringFill = async () => {}
  beforeKeys(world, () => duringFill())
  const store = await world.start()
  duringFill = async () => {
    duringFill = async () => {}
    world.connection.cut = 'before'
    expect(await update(store, one.id, { minTier: 4 })).toBe(true)
    world.connection.cut = 'none'
  }
  await joinReplicas(world.database, 'guest', world.clock.now())
  await world.clock.advance(20_000)
  world.connection.cut = 'before'
  expect((await store.findJob(one.id))?.document.minTier).toBe(4)
  expect(await update(store, one.id, { modelId: 'm7' })).toBe(true)
  world.connection.cut = 'none'
  await world.clock.advance(20_000)
  expect((await world.database.findJob(one.id))?.document).toMatchObject({
    minTier: 4,
    modelId: 'm7',
  })
})

it('a save whose outcome the disk did not take at first is judged before anything rests on the copy', async () => {
  const { world, store } = await start()
  await insert(store, '1')
  world.connection.cut = (name) => {
    world.disk.isFull ||= name === 'saveAll'
    return name === 'saveAll' ? 'after' : 'none'
  }
  expect(await codeOf(update(store, one.id, { minTier: 4 }))).toBe('unavailable')
  world.connection.cut = 'before'
  world.disk.isFull = false
  expect(await update(store, one.id, { modelId: 'm7' })).toBe(true)
  world.connection.cut = 'none'
  await world.clock.advance(20_000)
  expect(await world.database.findJob(one.id)).toMatchObject({
    document: { minTier: 4, modelId: 'm7' },
    version: 3,
  })
})

it('a save that the disk kept from being sent is not made at a later start', async () => {
  const { world, store } = await start()
  const key = { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 1e15 } as const
  const release = { kind: 'release-key', key: 'k', value: 'v' } as const
  await store.save(key)
  // The disk takes the note of each save, and no outcome.
  let changes = 0
  world.disk.isFull = () => changes++ % 2 === 1
  await insert(store, '1')
  expect(await codeOf(store.save(release))).toBe('unavailable')
  world.disk.isFull = false
  expect(await store.save(release)).toBe(true)
  expect(await store.save(key)).toBe(true)
  expect(world.disk.waiting()).toBe(0)
  world.crash()
  const later = await world.start()
  await world.clock.advance(20_000)
  expect(await later.findKey('k', 1)).toBe('v')
})

it('a save that is refused during a fill of the copy makes it miss nothing', async () => {
  const world = createBridgeWorld()
  const key = { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 1e15 } as const
  await world.database.save(key)
  await insert(world.database, '1')
  const { database } = world
  let whenRead = async () => {}
  let whenSent = async () => {}
  world.connection = createCutStore({
    ...database,
    status: () => connected,
    saveAll: async (writes, id) => {
      const refused = await database.saveAll(writes, id)
      if (refused) await whenSent()
      return refused
    },
    scan: async function* () {
      for await (const record of database.scan()) yield record
      await whenRead()
    },
  })
  const store = await world.start()
  await world.clock.advance(60_000)
  const answers: Promise<boolean>[] = []
  whenRead = async () => {
    const sent = new Promise<void>((resolve) => {
      let count = 0
      whenSent = async () => {
        if (++count === 2) resolve()
        await world.clock.sleep(1_000)
      }
    })
    answers.push(store.save({ ...key, value: 'w' }), insert(store, '1'))
    await sent
  }
  await joinReplicas(database, 'guest', world.clock.now())
  await world.clock.advance(20_000)
  expect(await Promise.all(answers)).toEqual([false, false])
  world.connection.cut = 'before'
  expect(await store.findKey('k', 1)).toBe('v')
  expect(await insert(store, '1')).toBe(false)
  expect(store.status().partial).toBeUndefined()
})

/** Has the store save while it fills its copy, which is empty, and waits for the outcome. */
async function saveDuringFill(
  world: BridgeWorld,
  {
    work,
    late,
  }: { work: (store: Store) => Promise<boolean>; late: (save: Work) => ReturnType<Work> },
  readAs: (record: StoreRecord) => StoreRecord = decoded,
) {
  const { database } = world
  const atOnce = (save: Work) => save()
  let answer = atOnce
  let whenFilled = async () => {}
  world.connection = createCutStore({
    ...database,
    status: () => connected,
    saveAll: (writes, id) => answer(() => database.saveAll(writes, id)),
    scan: async function* () {
      await whenFilled()
      for await (const record of database.scan()) yield readAs(record)
    },
  })
  // The copy is empty when the database comes.
  world.connection.cut = 'before'
  const store = await world.start()
  world.connection.cut = 'none'
  const answered = new Promise<boolean>((resolve, reject) => {
    whenFilled = async () => {
      whenFilled = async () => {}
      await new Promise<void>((sent) => {
        answer = (save) => {
          answer = atOnce
          sent()
          return late(save)
        }
        work(store).then(resolve, reject)
      })
    }
  })
  return { store, saved: await world.clock.until(answered) }
}

type Work = () => Promise<Write | undefined>
const never = () => new Promise<never>(() => {})
const setTier = (store: Store) => update(store, one.id, { minTier: 4 })

it.each<[string, (save: Work, world: BridgeWorld) => ReturnType<Work>]>([
  ['before', (save, { clock }) => clock.sleep(15_000).then(save)],
  ['after', (save) => save().then(never)],
])(
  'a save that is not answered, and whose job a fill reads %s it, is done and rested on',
  async (_, late) => {
    const world = createBridgeWorld()
    await insert(world.database, '1')
    const options = { work: setTier, late: (save: Work) => late(save, world) }
    const { store, saved } = await saveDuringFill(world, options)
    expect(saved).toBe(true)
    expect(await update(store, one.id, { modelId: 'm7' })).toBe(true)
    await world.clock.advance(60_000)
    expect(await world.database.findJob(one.id)).toMatchObject({
      document: { minTier: 4, modelId: 'm7' },
      version: 3,
    })
  },
)

it('a save that a fill reads, and that the database loses with its primary, is done again', async () => {
  const world = createBridgeWorld()
  await insert(world.database, '1')
  const notLasting = (record: StoreRecord): StoreRecord =>
    record.kind === 'job' ? { ...record, job: { ...record.job, minTier: 4 }, version: 2 } : record
  const options = { work: setTier, late: never }
  const { saved } = await saveDuringFill(world, options, notLasting)
  expect(saved).toBe(true)
  await world.clock.advance(60_000)
  expect(await world.database.findJob(one.id)).toMatchObject({
    document: { minTier: 4 },
    version: 2,
  })
})

const heldKey = { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 1e15 } as const

it.each<[string, Write]>([
  ['released key', { kind: 'release-key', key: 'k', value: 'v' }],
  ['blob of another', { kind: 'keep-blob', cid: 'b', until: 2e12 }],
])(
  'a save that is not answered is not refused for a %s, which the copy may lack',
  async (_, other) => {
    const world = createBridgeWorld()
    const { database } = world
    await insert(database, '1')
    await database.save(heldKey)
    await database.save({
      kind: 'blob',
      cid: 'b',
      bytes: new Uint8Array([1]),
      uploader: 'node',
      until: 1e12,
    })
    let outcome: Promise<unknown> | undefined
    let whenFilled = async () => {}
    world.connection = createCutStore({
      ...database,
      status: () => connected,
      scan: async function* () {
        await whenFilled()
        for await (const record of database.scan()) yield decoded(record)
      },
    })
    const store = await world.start()
    await world.clock.advance(60_000)
    whenFilled = async () => {
      whenFilled = async () => {}
      world.connection.cut = (name) => (name === 'saveAll' ? 'after' : 'none')
      const job = { ...one, minTier: 4 } as const
      outcome = store.saveAll([other, { kind: 'job', job, base: 1 }])
      await outcome.catch(() => {})
      world.connection.cut = 'before'
    }
    await joinReplicas(database, 'guest', world.clock.now())
    await world.clock.advance(20_000)
    expect(await outcome).toBeUndefined()
    expect(await update(store, one.id, { modelId: 'm7' })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(60_000)
    expect((await database.findJob(one.id))?.document).toMatchObject({ minTier: 4, modelId: 'm7' })
  },
)

it('a copy that an outage keeps from being filled still knows which database it is of', async () => {
  const { world, store } = await start()
  await insert(store, '1')
  world.connection.cut = (name) => (name === 'listKeys' ? 'before' : 'none')
  await joinReplicas(world.database, 'guest', world.clock.now())
  // The copy was cleared for the fill, which did not begin.
  await world.clock.advance(5_000)
  world.connection.cut = 'before'
  expect(store.status()).toMatchObject({ connected: false, partial: true })
  expect(await insert(store, '2')).toBe(true)
  world.crash()
  const other = createMemoryStore()
  world.connection = createCutStore({ ...other, status: () => connected })
  await world.start()
  await world.clock.advance(20_000)
  expect(await other.findJob(jobOf('2').id)).toBeUndefined()
})

import { describe, expect, it } from 'vitest'
import { listReplicas, renewReplica } from '../../icl/records/replicas.ts'
import type { Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import type { JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { nodeA, nodeB } from '../icl/rules/sample-job.ts'
import { createCutStore } from './cut-store.ts'
import { createFallbackWorld, type FallbackWorld, jobOf } from './fallback-world.ts'
import { createMemoryJournal, emptyDisk } from './memory-journal.ts'

const unavailable = { code: 'unavailable', retryAfterSeconds: 5 }
const minuteMs = 60_000
const one = jobOf('1')
const insert = (store: Store, digit: string, change: Partial<Job> = {}) =>
  store.save({ kind: 'job', job: jobOf(digit, change), base: 0 })

/** Saves what `change` makes of a job that is there. */
async function update(store: Store, id: JobId, change: Partial<Job>): Promise<boolean> {
  const { document, version } = (await store.findJob(id))!
  return store.save({ kind: 'job', job: { ...document, ...change }, base: version })
}

async function start(): Promise<{ world: FallbackWorld; store: Store }> {
  const world = createFallbackWorld()
  return { world, store: await world.start() }
}

describe('a store whose database goes away', () => {
  it('goes on from memory, and brings the database up to date when it is back', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    expect(await update(store, one.id, { minTier: 4 })).toBe(true)
    expect(await update(store, one.id, { minTier: 5 })).toBe(true)
    expect(await insert(store, '2')).toBe(true)
    expect(await insert(store, '2')).toBe(false)
    expect(await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 10 })).toBe(
      true,
    )
    expect((await store.findJob(one.id))?.version).toBe(3)
    expect(store.status()).toEqual({
      connected: false,
      writable: true,
      reasons: [expect.stringContaining('working from memory; 4 saves wait in disk')],
    })
    await store.ping()
    expect((await world.database.findJob(one.id))?.version).toBe(1)

    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
    expect(world.disk.file).toBeUndefined()
    expect(await world.database.findJob(one.id)).toEqual(
      expect.objectContaining({ document: { ...one, minTier: 5 }, version: 3 }),
    )
    expect((await world.database.findJob(jobOf('2').id))?.version).toBe(1)
    expect(await world.database.findKey('k', 0)).toBe('v')
    expect(await update(store, one.id, { minTier: 6 })).toBe(true)
  })

  it('knows the clients that the database held, and those that it is told of', async () => {
    const world = createFallbackWorld()
    const save = (store: Pick<Store, 'save'>, address: typeof nodeA, base: number, at: number) =>
      store.save({ kind: 'client', client: { address, firstAcceptedAt: at }, base })
    await save(world.database, nodeA, 0, 5)
    const store = await world.start()
    world.connection.cut = 'before'
    expect((await store.findClient(nodeA))?.document.firstAcceptedAt).toBe(5)
    expect(await store.findClient(nodeB)).toBeUndefined()
    expect(await save(store, nodeA, 0, 9)).toBe(false)
    expect(await save(store, nodeA, 1, 4)).toBe(true)
    expect(await save(store, nodeB, 0, 7)).toBe(true)
    world.crash()
    const next = await world.start()
    expect((await next.findClient(nodeB))?.document.firstAcceptedAt).toBe(7)
    await world.clock.advance(10_000)
    expect((await world.database.findClient(nodeA))?.document.firstAcceptedAt).toBe(4)
    expect((await world.database.findClient(nodeB))?.document.firstAcceptedAt).toBe(7)
  })

  it('is used with a record that cannot be read, and takes no saves from memory, where that would be a new one', async () => {
    const world = createFallbackWorld()
    const { database } = world
    await insert(database, '1', { tickAt: 1 })
    await insert(database, '2', { tickAt: 1 })
    const corrupt = new SvcError('store-corrupt', 'planted', { hint: 'none' })
    world.connection = createCutStore({
      ...database,
      status: () => ({ connected: true, writable: true, reasons: [], unreadable: 1 }),
      findJob: (id) => (id === one.id ? Promise.reject(corrupt) : database.findJob(id)),
    })
    const store = await world.start()
    expect(store.status()).toMatchObject({ connected: true, writable: true })
    expect(await insert(store, '3')).toBe(true)
    world.connection.cut = 'before'
    await expect(insert(store, '1')).rejects.toMatchObject({ code: 'unavailable' })
    expect((await store.findJob(jobOf('2').id))?.document.id).toBe(jobOf('2').id)
  })

  it('says while it brings the database up to date that this answers, and how far it is', async () => {
    const world = createFallbackWorld()
    const { database } = world
    const slowMs = 30_000
    world.connection = createCutStore({
      ...database,
      status: () => ({ connected: true, writable: true, reasons: [] }),
      save: async (write, id) => {
        if (write.kind === 'job') await world.clock.sleep(slowMs)
        return database.save(write, id)
      },
    })
    const store = await world.start({ callMs: 2 * slowMs })
    world.connection.cut = 'before'
    for (const digit of ['1', '2', '3']) await insert(store, digit)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status()).toEqual({
      connected: false,
      writable: true,
      reasons: [expect.stringMatching(/^the database is back.*3 saves wait in disk/)],
    })
    await world.clock.advance(40_000)
    expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
    const progress = world.logged.filter((line) => line.startsWith('The journal is replayed'))
    expect(progress[0]).toContain('"replayed":0,"waiting":3')
    expect(progress.length).toBeGreaterThan(1)
    expect(world.logged.at(-1)).toMatch(/^The database is back .*"replayed":3/)
  })

  it('does a save once whose answer was lost', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'after'
    expect(await store.save({ kind: 'job', job: { ...one, minTier: 4 }, base: 1 })).toBe(true)
    expect((await world.database.findJob(one.id))?.version).toBe(2)
    expect((await store.findJob(one.id))?.version).toBe(2)
    expect(await update(store, one.id, { minTier: 5 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(await world.database.findJob(one.id)).toEqual(
      expect.objectContaining({ document: { ...one, minTier: 5 }, version: 3 }),
    )
  })

  it('lets one of two have a version, also when the answers to both are lost', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'after'
    const both = [4, 5].map((minTier) =>
      store.save({ kind: 'job', job: { ...one, minTier }, base: 1 }),
    )
    expect(await Promise.all(both)).toEqual([true, false])
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status().connected).toBe(true)
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(4)
  })

  it('does not wait for a database that says nothing', async () => {
    const { world, store } = await start()
    world.connection.cut = 'silent'
    expect(await world.clock.until(insert(store, '1'))).toBe(true)
    expect(store.status().connected).toBe(false)
    // From then on nobody waits.
    expect(await insert(store, '2')).toBe(true)
  })

  it('is found by its reads, too', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    expect((await store.findJob(one.id))?.document).toEqual(one)
    expect(store.status().connected).toBe(false)
    expect(world.disk.file).toBeUndefined()
  })

  it('tells nobody that something is absent which the database may hold', async () => {
    const { world } = await start()
    await insert(world.database, '1', { phase: 'accepted', settledAt: 1, outbox: [] })
    await insert(world.database, '2', { createdAt: 5 })
    world.crash()
    const store = await world.start()
    world.connection.cut = 'before'
    expect((await store.findJob(jobOf('2').id))?.document.createdAt).toBe(5)
    await expect(store.findJob(one.id)).rejects.toMatchObject(unavailable)
    expect(await store.findJob(jobOf('3').id)).toBeUndefined()
    // The same submission must not become a second job.
    expect(await insert(store, '1')).toBe(false)
    await expect(
      store.save({ kind: 'job', job: jobOf('1', { minTier: 9 }), base: 1 }),
    ).rejects.toMatchObject(unavailable)
    expect(await store.countJobsOfClient(one.client, 0)).toBe(2)
    await expect(store.listJobsOfClient(one.client, { limit: 9 })).rejects.toMatchObject(
      unavailable,
    )
    await expect(store.listJobs({ limit: 9 })).rejects.toMatchObject(unavailable)
    const unsettled = await store.listJobs({ limit: 9, phase: 'open' })
    expect(unsettled.map(({ id }) => id)).toEqual([jobOf('2').id])
    await expect(store.listReputationEvents(nodeA)).rejects.toMatchObject(unavailable)
    await expect(store.findBlob('c')).rejects.toMatchObject(unavailable)
  })

  it('keeps blobs that it saw and those that it took, and says which job still needs one', async () => {
    const { world, store } = await start()
    const blob = (cid: string, ...bytes: number[]) =>
      ({ kind: 'blob', cid, bytes: new Uint8Array(bytes), uploader: 'node', until: 10 }) as const
    await world.database.save(blob('unseen', 1))
    await store.save(blob('seen', 2))
    world.connection.cut = 'before'
    await store.save(blob('new', 3))
    expect(await store.findBlob('seen')).toEqual(new Uint8Array([2]))
    expect(await store.findBlob('new')).toEqual(new Uint8Array([3]))
    expect(await store.countBlobBytes('node')).toBe(1)
    expect(await store.save({ kind: 'keep-blob', cid: 'unseen', until: 90 })).toBe(false)
    expect(await store.save({ kind: 'keep-blob', cid: 'seen', until: 90 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    await world.database.prune({ now: 50, settledBefore: 0, limit: 9 })
    expect(await world.database.findBlob('unseen')).toBeDefined()
    expect(await world.database.findBlob('seen')).toBeDefined()
    expect(await world.database.findBlob('new')).toBeUndefined()
  })

  it('tells of every change across the absence', async () => {
    const { world, store } = await start()
    await insert(store, '1')
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
    expect([...(await changed())]).toEqual(['4'])
    await insert(store, '5')
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    await insert(store, '6')
    expect([...(await changed())]).toEqual(expect.arrayContaining(['5', '6']))
    await insert(store, '7')
    expect([...(await changed())]).toEqual(['7'])
  })
})

describe('a process that starts', () => {
  it('goes on from the journal while the database is away, and replays it before anything else', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 10 })
    world.connection.cut = 'before'
    await update(store, one.id, { minTier: 4 })
    await insert(store, '2')
    world.crash()
    world.connection.cut = 'before'
    const second = await world.start()
    expect(second.status()).toEqual(expect.objectContaining({ connected: false, writable: true }))
    expect((await second.findJob(one.id))?.document.minTier).toBe(4)
    expect(await second.findKey('k', 0)).toBe('v')
    expect(await insert(second, '2')).toBe(false)
    expect(await update(second, one.id, { minTier: 5 })).toBe(true)
    world.crash()
    await world.start()
    expect(world.disk.file).toBeUndefined()
    expect(await world.database.findJob(one.id)).toEqual(
      expect.objectContaining({ document: { ...one, minTier: 5 }, version: 3 }),
    )
    expect(await world.database.findJob(jobOf('2').id)).toBeDefined()
  })

  it('decides that a save was done which the database may have done when the process ended', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'mute'
    const job = { ...one, minTier: 4 }
    const told: unknown[] = []
    store.save({ kind: 'job', job, base: 1 }).then(
      (saved) => told.push(saved),
      () => {},
    )
    await Promise.resolve()
    world.connection.cut = 'before'
    expect(await insert(store, '2')).toBe(true)
    world.crash()
    world.connection.cut = 'before'
    const second = await world.start()
    expect(told).toEqual([])
    expect((await second.findJob(one.id))?.document.minTier).toBe(4)
    expect(await update(second, one.id, { minTier: 5 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(second.status().connected).toBe(true)
    expect(await world.database.findJob(one.id)).toEqual(
      expect.objectContaining({ document: { ...one, minTier: 5 }, version: 3 }),
    )
  })

  it('does nothing without its database and without a journal, until the database is there', async () => {
    const world = createFallbackWorld()
    await insert(world.database, '1')
    world.connection.cut = 'before'
    const store = await world.start()
    expect(store.status()).toEqual({
      connected: false,
      writable: false,
      reasons: ['the database has not answered since the start'],
    })
    await expect(store.ping()).rejects.toMatchObject(unavailable)
    await expect(store.findJob(one.id)).rejects.toMatchObject(unavailable)
    await expect(insert(store, '2')).rejects.toMatchObject(unavailable)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status().connected).toBe(true)
    expect(await insert(store, '2')).toBe(true)
    world.connection.cut = 'before'
    expect((await store.findJob(one.id))?.document).toEqual(one)
  })

  it('replays every save once, wherever an earlier replay was cut off', async () => {
    const world = createFallbackWorld()
    for (let calls = 1; calls < 60; calls++) {
      const digit = 'abcdef0123456789'[calls % 16]!
      world.database.put({ kind: 'job', job: jobOf(digit), version: 1 })
      world.crash()
      const first = await world.start()
      world.connection.cut = 'before'
      for (const minTier of [4, 5, 6]) {
        expect(await update(first, jobOf(digit).id, { minTier })).toBe(true)
        expect(
          await first.save({
            kind: 'key',
            key: `${calls}`,
            value: `v${minTier}`,
            now: minTier,
            expiresAt: minTier + 1,
          }),
        ).toBe(true)
      }
      world.crash()
      const { connection } = world
      const [cut, left] =
        calls % 2 === 0 ? (['before', calls / 2] as const) : (['after', (calls + 1) / 2] as const)
      const from = connection.calls
      connection.cut = () => (connection.calls - from > left + 2 ? cut : 'none')
      await world.start()
      world.crash()
      const last = await world.start()
      expect(last.status()).toEqual({ connected: true, writable: true, reasons: [] })
      expect(await world.database.findJob(jobOf(digit).id)).toEqual(
        expect.objectContaining({ document: jobOf(digit, { minTier: 6 }), version: 4 }),
      )
      expect(await world.database.findKey(`${calls}`, 6)).toBe('v6')
    }
  })
})

describe('a store that cannot write its journal', () => {
  it('refuses saves, shows nothing of them, and goes on when there is room', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    await insert(store, '2')
    world.disk.isFull = true
    await expect(update(store, one.id, { minTier: 4 })).rejects.toMatchObject(unavailable)
    expect((await store.findJob(one.id))?.document).toEqual(one)
    expect(store.status()).toEqual({
      connected: false,
      writable: false,
      reasons: ['the journal cannot be written'],
    })
    expect(await store.listDueTicks(Number.MAX_SAFE_INTEGER, 9)).toEqual([])
    world.disk.isFull = false
    expect(await update(store, one.id, { minTier: 5 })).toBe(true)
    expect(store.status().writable).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(5)
    expect(await world.database.findJob(jobOf('2').id)).toBeDefined()
  })
})

describe('a save that neither the database nor the journal answered for', () => {
  it('is taken for done before the next save of its document', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'after'
    world.disk.isFull = true
    const save = (minTier: number, base: number) =>
      store.save({ kind: 'job', job: { ...one, minTier }, base })
    await expect(save(4, 1)).rejects.toMatchObject(unavailable)
    world.disk.isFull = false
    expect(await save(5, 1)).toBe(false)
    expect((await store.findJob(one.id))?.document.minTier).toBe(4)
    expect(await save(6, 2)).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status().connected).toBe(true)
    expect((await world.database.findJob(one.id))?.version).toBe(3)
  })
})

describe('a store that another process has saved to meanwhile', () => {
  it('stops, names the document, keeps the journal, and says so after a restart', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    world.connection.cut = 'before'
    await update(store, one.id, { minTier: 4 })
    await update(world.database, one.id, { minTier: 9 })
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    const stopped = {
      connected: false,
      writable: false,
      reasons: [expect.stringContaining(`Job ${one.id} (saved at version 1) was changed`)],
    }
    expect(store.status()).toEqual(stopped)
    await expect(insert(store, '2')).rejects.toMatchObject(unavailable)
    expect((await store.findJob(one.id))?.document.minTier).toBe(4)
    expect(world.disk.file?.writes).toHaveLength(1)
    world.crash()
    expect((await world.start()).status()).toEqual(stopped)
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(9)
    expect(world.disk.file?.writes).toHaveLength(1)
  })

  it('saves a key once that was renewed every second, with what it had last', async () => {
    const { world, store } = await start()
    world.connection.cut = 'before'
    for (let second = 0; second < 600; second++) {
      const now = world.clock.now() + second * 1_000
      const key = { kind: 'key', key: 'seen', now, expiresAt: now + 3_600_000 } as const
      expect(await store.save({ ...key, value: 'a' })).toBe(true)
      if (second === 300) await insert(store, '1')
    }
    const { calls } = world.connection
    const lastUntil = world.clock.now() + 599_000 + 3_600_000
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status().connected).toBe(true)
    expect(await world.database.listKeys('seen', 0)).toMatchObject([{ expiresAt: lastUntil }])
    expect(await world.database.findJob(one.id)).toBeDefined()
    expect(world.connection.calls - calls).toBeLessThan(50)
  })

  it('does not mind who holds a key by now that has expired', async () => {
    const { world, store } = await start()
    const now = world.clock.now()
    const key = (value: string) =>
      ({ kind: 'key', key: 'nonce', value, now, expiresAt: now + 1_000 }) as const
    world.connection.cut = 'before'
    await store.save(key('a'))
    await world.database.save(key('b'))
    await world.clock.advance(1_000)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status().connected).toBe(true)
  })

  it('keeps to itself who runs and who has which work', async () => {
    const { world, store } = await start()
    const now = world.clock.now()
    const lease = (value: string) =>
      ({ kind: 'key', key: 'leader:effects', value, now, expiresAt: now + 60_000 }) as const
    world.connection.cut = 'before'
    expect([await store.save(lease('a')), await store.save(lease('b'))]).toEqual([true, false])
    await renewReplica(store, 'a', '0.0.0', now)
    expect(await store.listKeys('replica:', now)).toHaveLength(1)
    expect(world.disk.file).toBeUndefined()
  })

  it('keeps that to itself also when it was being saved as the database went away', async () => {
    const { world, store } = await start()
    const now = world.clock.now()
    const lease = {
      kind: 'key',
      key: 'leader:effects',
      now,
      expiresAt: now + 10 * minuteMs,
    } as const
    world.connection.cut = 'silent'
    store.save({ ...lease, value: 'a' }).catch(() => {})
    await Promise.resolve()
    world.connection.cut = 'before'
    expect(await insert(store, '1')).toBe(true)
    world.crash()
    expect(await world.database.save({ ...lease, value: 'b' })).toBe(true)
    const second = await world.start()
    await world.clock.advance(10_000)
    expect(second.status()).toEqual({ connected: true, writable: true, reasons: [] })
    expect(await world.database.findJob(one.id)).toBeDefined()
  })

  it('does not replay into another database', async () => {
    const { world, store } = await start()
    world.connection.cut = 'before'
    await insert(store, '1')
    world.crash()
    const other = createFallbackWorld()
    const moved = await other.start({ journal: createMemoryJournal(world.disk) })
    expect(moved.status()).toEqual({
      connected: false,
      writable: false,
      reasons: [expect.stringContaining('The database is not the one that disk belongs to')],
    })
    expect(await other.database.findJob(one.id)).toBeUndefined()
    expect(world.disk.file?.writes).toHaveLength(1)
  })
})

describe('a store with other replicas', () => {
  const renew = (world: FallbackWorld, id: string) =>
    renewReplica(world.database, id, '0.0.0', world.clock.now())

  it('refuses saves while the database is away, and goes on being read', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    await renew(world, 'b')
    await world.clock.advance(10_000)
    await update(world.database, one.id, { minTier: 9 })
    await insert(world.database, '2')
    await world.clock.advance(6_000)
    world.connection.cut = 'before'
    await expect(insert(store, '3')).rejects.toMatchObject(unavailable)
    expect(store.status()).toEqual({
      connected: false,
      writable: false,
      reasons: [expect.stringContaining('other replicas may be at work')],
    })
    expect((await store.findJob(one.id))?.document.minTier).toBe(9)
    expect(await store.findJob(jobOf('2').id)).toBeDefined()
    // Another replica may have taken it in just before.
    await expect(store.findJob(jobOf('3').id)).rejects.toMatchObject(unavailable)
    await expect(store.findKey('k', 0)).rejects.toMatchObject(unavailable)
    expect(await store.listDueTicks(Number.MAX_SAFE_INTEGER, 9)).toEqual([])
    expect(world.disk.file).toBeUndefined()
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(await insert(store, '3')).toBe(true)
  })

  it('may go on alone when no other was about for five minutes, with all that the other did', async () => {
    const { world, store } = await start()
    await insert(store, '1')
    await renew(world, 'b')
    await world.clock.advance(10_000)
    await update(world.database, one.id, { minTier: 9 })
    await world.clock.advance(5 * minuteMs - 30_000)
    world.connection.cut = 'before'
    await expect(insert(store, '3')).rejects.toMatchObject(unavailable)
    world.connection.cut = 'none'
    await world.clock.advance(minuteMs)
    world.connection.cut = 'before'
    expect(await insert(store, '3')).toBe(true)
    expect((await store.findJob(one.id))?.document.minTier).toBe(9)
    expect(await update(store, one.id, { minTier: 10 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(10)
  })

  it('does not take a history for whole to which others may have added', async () => {
    const { world, store } = await start()
    expect(await store.listReputationEvents(nodeA)).toEqual([])
    await renew(world, 'b')
    await world.clock.advance(10_000)
    const event = { id: 'e', node: nodeA, jobId: one.id, code: 'answer-delivered', at: 1 } as const
    await world.database.save({ kind: 'event', event })
    await world.clock.advance(6 * minuteMs)
    world.connection.cut = 'before'
    expect(await insert(store, '1')).toBe(true)
    await expect(store.listReputationEvents(nodeA)).rejects.toMatchObject(unavailable)
  })

  it('does not go on after a long sleep in which others may have come', async () => {
    const { world, store } = await start()
    world.connection.cut = 'before'
    await world.clock.jump(minuteMs)
    await expect(insert(store, '1')).rejects.toMatchObject(unavailable)
  })

  it('lets a replica that runs see it before it saves', async () => {
    const { world, store } = await start()
    const startedAt = world.clock.now()
    const connection = createCutStore(world.connection.store)
    const second = await world.start({
      replicaId: 'b',
      journal: createMemoryJournal(emptyDisk()),
      open: async () => connection.store,
    })
    expect(world.clock.now() - startedAt).toBeGreaterThan(5_000)
    await insert(second, '1')
    world.connection.cut = 'before'
    await expect(insert(store, '2')).rejects.toMatchObject(unavailable)
    // One that is alone does not wait.
    const alone = createFallbackWorld()
    const before = alone.clock.now()
    await alone.start()
    expect(alone.clock.now()).toBe(before)
  })

  it('says that it has stopped', async () => {
    const { world, store } = await start()
    const replicas = () => listReplicas(world.database, world.clock.now())
    expect((await replicas()).map(({ id }) => id)).toEqual(['a'])
    await store.close()
    expect(await replicas()).toEqual([])
    // One that ends otherwise is replaced by its own restart, whatever its version was.
    await world.start({ version: '1.0.0' })
    world.crash()
    await world.start({ version: '2.0.0' })
    expect(await replicas()).toHaveLength(1)
  })
})

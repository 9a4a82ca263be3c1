import { describe, expect, it } from 'vitest'
import { createKeyedMutex } from '../../icl/async/mutex.ts'
import type { Job } from '../../icl/rules/job.ts'
import { loadMirror } from '../../icl/store/fallback-load.ts'
import { createMirror } from '../../icl/store/fallback-mirror.ts'
import { createMemoryStore } from '../../icl/store/memory.ts'
import type { Store } from '../../icl/store/store.ts'
import { createCutStore } from './cut-store.ts'
import { createFallbackWorld, type FallbackWorld, jobOf } from './fallback-world.ts'
import { createMemoryJournal, emptyDisk } from './memory-journal.ts'

const one = jobOf('1')
const minuteMs = 60_000
const insert = (store: Store, digit: string) =>
  store.save({ kind: 'job', job: jobOf(digit), base: 0 })

async function update(store: Store, change: Partial<Job>): Promise<boolean> {
  const { document, version } = (await store.findJob(one.id))!
  return store.save({ kind: 'job', job: { ...document, ...change }, base: version })
}

/** Another replica on the database of a world, with a connection of its own. */
function createOther(world: FallbackWorld, id = 'b') {
  const status = () => ({ connected: true, writable: true, reasons: [] })
  const connection = createCutStore({ ...world.database, status })
  const start = () =>
    world.start({
      replicaId: id,
      journal: createMemoryJournal(emptyDisk()),
      open: async () => {
        await connection.store.ping()
        return connection.store
      },
    })
  return { connection, start }
}

describe('a replica that others have passed by', () => {
  it('does not go on from what it remembers when another came and went while it was cut off', async () => {
    const world = createFallbackWorld()
    const store = await world.start()
    await insert(store, '1')
    world.connection.cut = 'before'
    await store.findJob(one.id)
    const other = await createOther(world).start()
    expect(await update(other, { minTier: 9 })).toBe(true)
    await other.close()
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    world.connection.cut = 'before'
    expect((await store.findJob(one.id))?.document.minTier).toBe(9)
    expect(await update(store, { minTier: 10 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
    expect((await world.database.findJob(one.id))?.document.minTier).toBe(10)
  })

  it('knows what others saved while it alone was cut off', async () => {
    const world = createFallbackWorld()
    const store = await world.start()
    await insert(store, '1')
    const other = await createOther(world).start()
    await world.clock.advance(20_000)
    world.connection.cut = 'before'
    await store.findJob(one.id)
    expect(await update(other, { minTier: 9 })).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    world.connection.cut = 'before'
    expect((await store.findJob(one.id))?.document.minTier).toBe(9)
    expect(store.status().writable).toBe(false)
  })

  it('comes first with what it saved meanwhile, however long that takes', async () => {
    const world = createFallbackWorld()
    const slow: Store = {
      ...world.connection.store,
      save: async (write, id) => {
        if (write.kind === 'job') await world.clock.sleep(3_000)
        return world.connection.store.save(write, id)
      },
    }
    const store = await world.start({ open: async () => slow })
    await world.clock.until(insert(store, '1'))
    await world.clock.advance(10_000)
    world.connection.cut = 'before'
    for (const minTier of [4, 5, 6, 7, 8]) {
      expect(await world.clock.until(update(store, { minTier }))).toBe(true)
    }
    const other = createOther(world)
    other.connection.cut = 'before'
    const second = await other.start()
    // Long enough for every record of the first to expire.
    await world.clock.advance(10 * minuteMs)
    other.connection.cut = 'none'
    await world.clock.advance(4_000)
    world.connection.cut = 'none'
    await world.clock.advance(12_000)
    expect(second.status().writable).toBe(false)
    await world.clock.advance(20_000)
    expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
    expect(second.status()).toEqual({ connected: true, writable: true, reasons: [] })
    expect((await second.findJob(one.id))?.document.minTier).toBe(8)
    expect(await update(second, { minTier: 9 })).toBe(true)
  })
})

describe('a replica that another one leaves in order', () => {
  it('goes on from memory from its next look on, and logs it', async () => {
    const world = createFallbackWorld()
    const store = await world.start()
    await insert(store, '1')
    const other = await createOther(world).start()
    await world.clock.advance(20_000)
    await other.close()
    world.logged.length = 0
    await world.clock.advance(6_000)
    expect(world.logged).toContain('No other replica runs: this one can work from memory {}')
    world.connection.cut = 'before'
    expect(await update(store, { minTier: 9 })).toBe(true)
  })

  it('refuses saves when the database is away before that look', async () => {
    const world = createFallbackWorld()
    const store = await world.start()
    await insert(store, '1')
    const other = await createOther(world).start()
    await world.clock.advance(20_000)
    await other.close()
    world.connection.cut = 'before'
    await expect(update(store, { minTier: 9 })).rejects.toMatchObject({ code: 'unavailable' })
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    world.connection.cut = 'before'
    expect(await update(store, { minTier: 9 })).toBe(true)
  })
})

describe('a mirror that is filled', () => {
  it('does not take a key for held that was released while it was read', async () => {
    const database = createMemoryStore()
    const mirror = createMirror()
    const key = { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 100 } as const
    await database.save(key)
    const source: Store = {
      ...database,
      listKeys: async (prefix, now) => {
        const held = await database.listKeys(prefix, now)
        const release = { kind: 'release-key', key: 'k', value: 'v' } as const
        await database.save(release)
        await mirror.note(release, 'w')
        return held
      },
    }
    await loadMirror(mirror, source, createKeyedMutex(), 0)
    expect(await mirror.memory.listKeys('', 0)).toEqual([])
    expect(await mirror.wouldAccept({ ...key, value: 'other' }, 'x')).toBe('take')
  })
})

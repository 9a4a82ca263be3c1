import { describe, expect, it } from 'vitest'
import { breakDatabaseLock } from '../../icl/records/database-lock.ts'
import { renewReplica } from '../../icl/records/replicas.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import { codeOf } from '../code-of.ts'
import { type BridgeWorld, createBridgeWorld, createCopyDisk, jobOf } from './bridge-world.ts'
import { createCutStore } from './cut-store.ts'

const unavailable = { code: 'unavailable' }
const locked = 'store-locked'
const minuteMs = 60_000
const insert = (store: Pick<Store, 'save'>, digit: string) =>
  store.save({ kind: 'job', job: jobOf(digit), base: 0 })

const status = () => ({ connected: true, writable: true, reasons: [] })
const isRelease = (write: Write): boolean =>
  write.kind === 'release-key' && write.key === 'database-lock'

/** Another ICL over the same database, by a connection of its own: alone with a disk, or one of several. */
function another(world: BridgeWorld, id: string, disk = createCopyDisk()) {
  const connection = createCutStore({ ...world.database, status })
  const start = (isAlone: boolean) =>
    world.start({
      replicaId: id,
      copy: isAlone ? disk.open() : undefined,
      open: async () => {
        await connection.store.ping()
        return connection.store
      },
    })
  return { connection, disk, alone: () => start(true), shared: () => start(false) }
}

describe('an ICL that is alone on its database', () => {
  it('keeps every other one from starting, until it has stopped', async () => {
    const world = createBridgeWorld()
    const store = await world.start()
    const other = another(world, 'b')
    expect(await codeOf(other.alone())).toBe(locked)
    expect(await codeOf(other.shared())).toBe(locked)
    await world.clock.until(store.close())
    await other.shared()
  })

  it('says what is in the way, and what to do', async () => {
    const world = createBridgeWorld()
    await world.start()
    const error = await another(world, 'b')
      .alone()
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({
      message: expect.stringContaining('exclusive a'),
      hint: expect.stringMatching(/SVC_ICL_REPLICAS.*admin unlock/),
    })
  })

  it('has the lock again after a kill, and nobody else has it meanwhile', async () => {
    const world = createBridgeWorld()
    await insert(await world.start(), '1')
    world.crash()
    await world.clock.advance(60 * minuteMs)
    expect(await codeOf(another(world, 'b').alone())).toBe(locked)
    expect(await insert(await world.start(), '2')).toBe(true)
  })

  it('starts without its database after a kill with all that it knew', async () => {
    const world = createBridgeWorld()
    await insert(await world.start(), '1')
    world.crash()
    world.connection.cut = 'before'
    const store = await world.start()
    expect(await store.findJob(jobOf('1').id)).toMatchObject({ version: 1 })
    expect(store.status().partial).toBeUndefined()
  })

  it('starts without its database after a stop as one that knows nothing: others may have been there', async () => {
    const world = createBridgeWorld()
    const store = await world.start()
    await insert(store, '1')
    await world.clock.until(store.close())
    world.connection.cut = 'before'
    const second = await world.start()
    expect(second.status()).toMatchObject({ writable: true, partial: true })
    expect(await second.findJob(jobOf('1').id)).toBeUndefined()
    expect(await insert(second, '2')).toBe(true)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(await second.findJob(jobOf('1').id)).toBeDefined()
    expect(await world.database.findJob(jobOf('2').id)).toBeDefined()
  })

  it('saves nothing once it has given the lock back', async () => {
    const world = createBridgeWorld()
    let late: Promise<unknown> | undefined
    world.connection = createCutStore({
      ...world.database,
      status,
      save: async (write, id) => {
        const answer = await world.database.save(write, id)
        if (isRelease(write)) {
          world.connection.cut = 'before'
          late = codeOf(insert(store, '2'))
        }
        return answer
      },
    })
    const store = await world.start()
    await world.clock.until(store.close())
    expect(await late).toBe('unavailable')
    expect(world.disk.waiting()).toBe(0)
  })

  it('neither prunes, erases nor restores once it has stopped', async () => {
    const world = createBridgeWorld()
    const store = await world.start()
    const over = { settledAt: 1, phase: 'cancelled', outbox: [] } as const
    await store.save({ kind: 'job', job: jobOf('1', over), base: 0 })
    await world.clock.until(store.close())
    const changes = [
      store.prune({ now: 0, settledBefore: 9, limit: 9 }),
      store.erase({ kind: 'job', id: jobOf('1').id }),
      store.restore({ kind: 'job', job: jobOf('2'), version: 1 }),
    ]
    for (const change of changes) expect(await codeOf(change)).toBe('unavailable')
    expect(await world.database.findJob(jobOf('1').id)).toBeDefined()
    expect(await world.database.findJob(jobOf('2').id)).toBeUndefined()
  })

  it('gives the lock back once the saves that have begun are in the database', async () => {
    const world = createBridgeWorld()
    const [begun, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    world.connection = createCutStore({
      ...world.database,
      status,
      saveAll: async (writes, id) => {
        begun.resolve()
        await answered.promise
        return world.database.saveAll(writes, id)
      },
    })
    const store = await world.start()
    const saved = insert(store, '1')
    await begun.promise
    const closed = store.close()
    answered.resolve()
    await world.clock.until(closed)
    expect(await saved).toBe(true)
    expect(world.disk.waiting()).toBe(0)
    await another(world, 'b').shared()
  })

  it('does not start beside others, whatever it finds in its folder', async () => {
    const world = createBridgeWorld()
    const other = another(world, 'b')
    const store = await other.shared()
    expect(await codeOf(world.start())).toBe(locked)
    await world.clock.until(store.close())
    await world.start()
  })

  it('takes the lock from others that were killed once they are forgotten', async () => {
    const world = createBridgeWorld()
    const other = another(world, 'b')
    await other.shared()
    await world.clock.advance(4 * minuteMs)
    expect(await codeOf(world.start())).toBe(locked)
    await world.clock.advance(2 * minuteMs)
    await world.start()
  })
})

describe('one of several ICLs', () => {
  it('saves nothing and reads nothing while the database is away', async () => {
    const world = createBridgeWorld()
    const [one, two] = [another(world, 'a'), another(world, 'b')]
    const stores = [await one.shared(), await two.shared()]
    for (const { connection } of [one, two]) connection.cut = 'before'
    for (const store of stores) {
      await expect(insert(store, '1')).rejects.toMatchObject(unavailable)
      await expect(store.findJob(jobOf('1').id)).rejects.toMatchObject(unavailable)
      expect(store.status()).toMatchObject({ connected: false, writable: false })
    }
  })

  it('looks at the lock before it saves after it was frozen for long', async () => {
    const world = createBridgeWorld()
    // Frozen: none of its timers runs, and its mark expires.
    const clock = { ...world.clock, sleep: () => new Promise<never>(() => {}) }
    const { store: database } = createCutStore(world.database)
    const store = await world.start({
      ...{ replicaId: 'b', copy: undefined, clock },
      open: async () => database,
    })
    await world.clock.advance(6 * minuteMs)
    await another(world, 'a').alone()
    await expect(insert(store, '1')).rejects.toMatchObject(unavailable)
    expect(await world.database.findJob(jobOf('1').id)).toBeUndefined()
    expect(store.status().reasons.join()).toContain('lock of this database')
  })
})

it('an ICL that worked before it could ask for the lock saves nothing more and keeps what waits when another one has it, and replays it afterwards', async () => {
  const world = createBridgeWorld()
  const other = another(world, 'b')
  const first = await other.alone()
  world.connection.cut = 'before'
  const store = await world.start()
  expect(await insert(store, '1')).toBe(true)
  world.connection.cut = 'none'
  await world.clock.advance(10_000)
  await expect(insert(store, '2')).rejects.toMatchObject(unavailable)
  await expect(store.findJob(jobOf('1').id)).rejects.toThrow('lock of this database')
  expect(store.status()).toMatchObject({ writable: false })
  expect(store.status().reasons.join()).toContain('exclusive b')
  expect(world.disk.waiting()).toBe(1)
  await world.clock.until(first.close())
  await world.clock.advance(10_000)
  expect(await world.database.findJob(jobOf('1').id)).toBeDefined()
  expect(await insert(store, '2')).toBe(true)
})

describe('a lock that is broken by the operator', () => {
  it('stays while an ICL runs', async () => {
    const world = createBridgeWorld()
    await world.start()
    await renewReplica(world.database, 'a', '0.0.0', world.clock.now())
    expect(await codeOf(breakDatabaseLock(world.database, world.clock.now()))).toBe('store-in-use')
  })

  it('lets another one start, and the one that had it save no more', async () => {
    const world = createBridgeWorld()
    const store = await world.start()
    expect(await breakDatabaseLock(world.database, world.clock.now())).toBe('exclusive a')
    const other = await another(world, 'b').alone()
    await world.clock.advance(10_000)
    expect(await insert(other, '1')).toBe(true)
    await expect(insert(store, '2')).rejects.toMatchObject(unavailable)
  })
})

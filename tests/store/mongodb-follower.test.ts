import { MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../../icl/start/open-store.ts'
import type { Owner } from '../../icl/store/mirror/follower.ts'
import { openMirror } from '../../icl/store/mirror/mirror.ts'
import { createMongoFollower } from '../../icl/store/mongodb/follower.ts'
import { createSharedStore } from '../../icl/store/mongodb/shared.ts'
import { createMongoStore } from '../../icl/store/mongodb/store.ts'
import { openMemoryFile } from '../../icl/store/sqlite/file.ts'
import type { Store } from '../../icl/store/store.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { eventually } from '../eventually.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { contentsOf } from './mirror-world.ts'
import { describeStore, eventOf, jobOf, nodeOf } from './suite.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'
import { type Fate, startProxy, type WireProxy } from './wire-server/proxy.ts'

const missing = await whyNoWireServer()
const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const owner: Owner = {
  ...{ kind: 'file', file: 'f', name: 'f', mark: 'm', head: 0, beats: 0, isFree: false },
}
const everything = { from: 0, to: 1_000 }

describe('a MongoDB that follows a file', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let proxy: WireProxy
  let url: string
  const opened: { close(): Promise<void> }[] = []
  const opening = <T extends { close(): Promise<void> }>(one: T): T => {
    opened.push(one)
    return one
  }
  const followerOf = (to: string) => opening(createMongoFollower({ url: to, clock, random }))
  const mirrorOf = async (to: string, callMs = 30_000): Promise<Store> => {
    const store = await openMemoryFile()
    const follower = createMongoFollower({ url: to, clock, random })
    const parts = { store, follower, name: 'a', clock, random, log: silent, callMs }
    return openMirror(parts)
  }
  const proxied = () =>
    `mongodb://127.0.0.1:${proxy.port}${new URL(url).pathname}?directConnection=true`
  beforeAll(async () => {
    server = await openWireServer()
  }, 120_000)
  beforeEach(async () => {
    proxy = await startProxy(server.upstream)
    url = server.freshUrl()
  })
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await proxy.close()
  })
  afterAll(() => server.close())

  describeStore('mirror on MongoDB', () => mirrorOf(server.freshUrl()))

  it('takes no lower number of a record, also of one that is gone, and others beside it', async () => {
    const follower = followerOf(url)
    expect(await follower.claim(undefined, owner)).toBe(true)
    const key = (value: string) => ({ kind: 'key', key: 'k', value, expiresAt: 9 }) as const
    const state = (seq: number, record?: ReturnType<typeof key>) =>
      ({ kind: 'key', id: 'k', seq, record }) as const
    const other = { kind: 'event', event: eventOf('e', 1) } as const
    const put = (...states: Parameters<typeof follower.put>[2]) =>
      follower.put(owner, everything, states)
    expect(await put(state(2, key('two')))).toBe(true)
    expect(await put(state(1, key('one')), { kind: 'event', id: 'e', seq: 3, record: other })).toBe(
      true,
    )
    expect([...(await contentsOf(follower.scan())).keys()]).toEqual(['event:e', 'key:k'])
    expect(await put(state(4), state(2, key('two')))).toBe(true)
    expect(await put(state(3, key('three')), state(4))).toBe(true)
    expect([...(await contentsOf(follower.scan())).keys()]).toEqual(['event:e'])
    expect(await put(state(5, key('five')))).toBe(true)
    const direct = opening(createMongoStore({ url, clock, random }))
    expect(await direct.findKey('k', 0)).toBe('five')
    // The number of one that is there again stays.
    const goneAt = clock.now()
    await put(state(6))
    await Array.fromAsync(follower.forget(goneAt))
    await put(state(5, key('five')))
    expect(await direct.findKey('k', 0)).toBeUndefined()
    await Array.fromAsync(follower.forget(clock.now() + 1))
    // The owner and, until the sweep, the event are rows, too.
    const rows = opening(new MongoClient(url)).db().collection('records')
    expect(await rows.countDocuments()).toBe(2)
    await direct.save({ kind: 'key', key: 'of others', value: 'v', now: 0, expiresAt: 9 })
    await put(...Array.from({ length: 250 }, (_, n) => ({ ...state(n + 7), id: `${n}` })))
    await Array.fromAsync(follower.sweep(246))
    expect(await rows.countDocuments()).toBe(11)
  })

  it('shows nothing of a record that is gone to those who read it', async () => {
    const follower = followerOf(url)
    await follower.claim(undefined, owner)
    const job = { kind: 'job', job: jobOf('1'), version: 1 } as const
    const ids = { job: job.job.id, node: nodeA, client: nodeA, key: 'k', event: 'e', blob: 'c' }
    const states = Object.entries(ids).map(
      ([kind, id], seq) =>
        ({ kind: kind as keyof typeof ids, id, seq: seq + 1, record: undefined }) as const,
    )
    await follower.put(owner, everything, [{ kind: 'job', id: job.job.id, seq: 0, record: job }])
    await follower.put(owner, everything, states)
    const direct = opening(createMongoStore({ url, clock, random }))
    const found = [
      await direct.findJob(jobOf('1').id),
      await direct.findNode(nodeA),
      await direct.findClient(nodeA),
      await direct.findBlob('c'),
    ]
    expect(found).toEqual([undefined, undefined, undefined, undefined])
    expect(await direct.listJobs({ limit: 9 })).toEqual([])
    expect((await direct.stats()).jobsByPhase).toEqual({})
    expect(await Array.fromAsync(direct.scan())).toEqual([])
  })

  it('is read anew by an ICL that shared it before, at each change', async () => {
    const follower = followerOf(url)
    await follower.claim(undefined, owner)
    const shared = opening(createSharedStore({ url, clock, random }))
    for (const version of [1, 2, 3]) {
      const record = { kind: 'job', job: jobOf('1', { minTier: version }), version } as const
      const { id } = record.job
      await follower.put(owner, everything, [{ kind: 'job', id, seq: version, record }])
      shared.renew?.()
      expect((await shared.findJob(id))?.document.minTier).toBe(version)
    }
  })

  it('has one owner, and takes nothing from another, or from one that believes it is further', async () => {
    const follower = followerOf(url)
    expect(await follower.claim(undefined, owner)).toBe(true)
    const second = { ...owner, file: 'g', mark: 'n' }
    expect(await follower.claim(undefined, second)).toBe(false)
    expect(await follower.put(second, everything, [])).toBe(false)
    expect(await follower.put(owner, { from: 5, to: 9 }, [])).toBe(false)
    expect(await follower.put(owner, { from: 0, to: 9 }, [])).toBe(true)
    expect(await follower.put(owner, { from: 0, to: 8 }, [])).toBe(false)
    expect(await follower.owner()).toMatchObject({ file: 'f', head: 9, beats: 1 })
    const known = await follower.owner()
    await follower.put(owner, { from: 9, to: 9 }, [])
    // It runs: it has beaten since.
    expect(await follower.claim(known, second)).toBe(false)
    expect(await follower.claim(await follower.owner(), second)).toBe(true)
    expect(await follower.claim(known, owner)).toBe(false)
  })

  it('takes nothing from an owner that was freed, until it claims the database anew', async () => {
    const follower = followerOf(url)
    await follower.claim(undefined, owner)
    await follower.claim(await follower.owner(), { ...owner, isFree: true })
    expect(await follower.put(owner, everything, [])).toBe(false)
    expect(await follower.claim(await follower.owner(), owner)).toBe(true)
    expect(await follower.put(owner, everything, [])).toBe(true)
  })

  it('comes to have what the file has after answers are lost, calls cut, swallowed and late', {
    timeout: 300_000,
  }, async () => {
    const store = await mirrorOf(proxied(), 1_000)
    await eventually('the database follows', async () => store.status().connected)
    const fates: readonly Fate[] = ['forward', 'lose-answer', 'cut', 'swallow']
    let count = 0
    const late: (() => void)[] = []
    proxy.fateOf = async (): Promise<Fate> => {
      count++
      if (count % 7 === 0) await new Promise<void>((go) => late.push(go))
      return fates[count % 4] ?? 'forward'
    }
    for (let round = 0; round < 20; round++) {
      for (const digit of ['1', '2', '3']) {
        const { version: base = 0 } = (await store.findJob(jobOf(digit).id)) ?? {}
        await store.save({ kind: 'job', job: jobOf(digit, { minTier: round }), base })
      }
      const node = nodeOf(nodeA, { leaving: round % 2 === 0 })
      await store.save({ kind: 'node', node, base: round })
      await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 9 })
      if (round % 3 === 0) await store.save({ kind: 'release-key', key: 'k', value: 'v' })
      await store.commits.barrier()()
      for (const go of late.splice(0)) go()
    }
    proxy.fateOf = () => 'forward'
    for (const go of late.splice(0)) go()
    await eventually('the database is back', async () => store.status().connected)
    await store.commits.barrier()()
    const direct = opening(createMongoStore({ url, clock, random }))
    const here = await contentsOf(store.scan())
    expect(here.size).toBe(5)
    expect(await contentsOf(direct.scan())).toEqual(here)
    await store.close()
  })

  it('is not shared, and is not followed while others share it', { timeout: 120_000 }, async () => {
    const shared = opening(createSharedStore({ url, clock, random }))
    await shared.look()
    expect(await shared.save({ kind: 'job', job: jobOf('1'), base: 0 })).toBe(true)
    const mirror = await mirrorOf(url)
    expect(mirror.status().reasons.join()).toContain('several ICLs may have it')
    await mirror.close()
    const follower = followerOf(url)
    const before = await follower.owner()
    expect(await follower.claim(before, { ...owner, head: before?.head ?? 0 })).toBe(true)
    expect(await codeOf(createdShared().look())).toBe('store-locked')
    const guest = createdShared(true)
    expect(await codeOf(guest.save({ kind: 'job', job: jobOf('2'), base: 0 }))).toBe('store-locked')
    expect(await guest.findJob(jobOf('1').id)).toBeDefined()
    // Those that share it look again after four seconds.
    await clock.sleep(4_100)
    const saved = shared.save({ kind: 'job', job: jobOf('2'), base: 0 })
    expect(await codeOf(saved)).toBe('unavailable')
    expect(shared.status().reasons.join()).toContain('Another ICL has this database (f)')
  })
  const createdShared = (isGuest = false) =>
    opening(createSharedStore({ url, clock, random }, isGuest))

  it('is looked after once by saves at the same time', async () => {
    const shared = opening(createSharedStore({ url: proxied(), clock, random }))
    await shared.ping()
    let updates = 0
    proxy.fateOf = (command) => {
      if (command === 'update') updates++
      return 'forward'
    }
    const saves = Array.from({ length: 9 }, (_, n) =>
      shared.save({ kind: 'key', key: `${n}`, value: 'v', now: 0, expiresAt: 9 }),
    )
    expect(await Promise.all(saves)).toEqual(saves.map(() => true))
    expect(updates).toBe(1 + saves.length)
  })

  it('takes nothing from a guest once the owner has stopped, as its file would lack that, until it is unlocked', {
    timeout: 120_000,
  }, async () => {
    const follower = followerOf(url)
    await follower.claim(undefined, owner)
    const gone = { kind: 'job', id: jobOf('1').id, seq: 1, record: undefined } as const
    await follower.put(owner, everything, [gone])
    await follower.release(owner)
    const guest = opening(await openStore(url))
    const restore = () => guest.restore({ kind: 'job', job: jobOf('1'), version: 1 })
    expect(await codeOf(restore())).toBe('store-locked')
    expect(await createdShared(true).unlock()).toBe('f')
    expect(await restore()).toBe(true)
    // The file has another past by now.
    expect(await follower.owner()).toMatchObject({ file: 'shared', name: 'f', isFree: true })
    expect(await createdShared(true).unlock()).toBeUndefined()
  })

  it('is shared once the owner of its file has stopped', async () => {
    const mirror = await mirrorOf(url)
    await eventually('it follows', async () => mirror.status().connected)
    await mirror.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 9 })
    await mirror.save({ kind: 'release-key', key: 'k', value: 'v' })
    await mirror.save({ kind: 'job', job: jobOf('1'), base: 0 })
    await mirror.close()
    const shared = createdShared()
    await shared.look()
    expect(await shared.save({ kind: 'job', job: jobOf('1', { minTier: 5 }), base: 1 })).toBe(true)
    // Nothing is left of what is gone.
    expect(await shared.restore({ kind: 'key', key: 'k', value: 'w', expiresAt: 9 })).toBe(true)
  })
})

import { describe, expect, it } from 'vitest'
import { foldStanding } from '../../icl/background/fold-standing.ts'
import type { Job } from '../../icl/rules/job.ts'
import type { Mirrored, Owner } from '../../icl/store/mirror/follower.ts'
import type { MirrorOptions } from '../../icl/store/mirror/mirror.ts'
import type { Store } from '../../icl/store/store.ts'
import { newcomer } from '../../lib/reputation.ts'
import { codeOf } from '../code-of.ts'
import { createFakeChain } from '../icl/fake-chain.ts'
import { runJob } from '../icl/run-job.ts'
import { createReplica, joinNode, walletOf } from '../icl/test-icl.ts'
import { contentsOf, createFile, createMirrorWorld, type MirrorWorld } from './mirror-world.ts'
import { eventOf, jobOf } from './suite.ts'

const follows = { connected: true, writable: true, reasons: [] }
const hourMs = 3_600_000

/** Saves a job as a command does whose answer is sent then. */
async function save(store: Store, digit: string, change: Partial<Job> = {}): Promise<void> {
  const barrier = store.commits.barrier()
  const { document = jobOf(digit), version: base = 0 } =
    (await store.findJob(jobOf(digit).id)) ?? {}
  expect(await store.save({ kind: 'job', job: { ...document, ...change }, base })).toBe(true)
  await barrier()
}

const tierIn = ({ database }: MirrorWorld, digit: string): number | undefined => {
  const record = database.find('job', jobOf(digit).id)
  return record?.kind === 'job' ? record.job.minTier : undefined
}

async function started(changes: Partial<MirrorOptions> = {}) {
  const world = createMirrorWorld()
  return { world, store: await world.start(changes) }
}

/** Has the file of a world refuse every commit from now on. */
function refuseCommits({ file: { db } }: MirrorWorld): void {
  const exec = db.exec.bind(db)
  db.exec = (sql) => {
    if (sql !== 'COMMIT') return exec(sql)
    throw Object.assign(new Error('is full'), { code: 'ERR_SQLITE_ERROR', errcode: 13 })
  }
}

const owner = (change: Partial<Owner> = {}): Owner => ({
  ...{ kind: 'file', file: 'other', name: 'host:other.db', mark: 'm' },
  ...{ head: 7, beats: 1, isFree: false, ...change },
})

const blobOf = (cid: string) =>
  ({
    kind: 'blob',
    cid,
    bytes: new Uint8Array(1),
    uploader: 'icl',
    until: 9,
    usedUntil: 9,
    answered: false,
  }) as const

/** A database with a job of another owner. */
function worldOf(change: Partial<Owner>): MirrorWorld {
  const world = createMirrorWorld()
  world.database.owner = owner(change)
  const record = { kind: 'job', job: jobOf('1', { minTier: 4 }), version: 3 } as const
  world.database.rows.set(`job:${record.job.id}`, {
    ...{ kind: 'job', id: record.job.id, seq: 7, record },
  })
  return world
}

describe('a store whose database follows', () => {
  it('acknowledges a save once both have it', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1', { minTier: 2 }))
    expect(tierIn(world, '1')).toBe(2)
    expect(store.status()).toEqual(follows)
  })

  it('continues without it, also for blobs, lists and backups, and brings it up to date', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1'))
    await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 9 })
    await world.clock.advance(2_000)
    world.connection.cut = 'before'
    for (const minTier of [4, 5]) await world.clock.until(save(store, '1', { minTier }))
    await store.save({ kind: 'release-key', key: 'k', value: 'v' })
    await store.save({
      ...{ kind: 'blob', cid: 'c', bytes: new Uint8Array([7]), uploader: 'node', until: 9 },
    })
    await world.clock.advance(2_000)
    const { connected, writable, reasons } = store.status()
    expect([connected, writable]).toEqual([false, true])
    expect(reasons).toEqual([expect.stringContaining('The connection is cut')])
    expect(reasons[0]).toContain('3 records wait')
    expect(await store.listJobs({ limit: 9 })).toHaveLength(1)
    expect(await store.findBlob('c')).toEqual(new Uint8Array([7]))
    expect((await contentsOf(store.scan())).size).toBe(2)
    expect(tierIn(world, '1')).toBe(0)
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store.status()).toEqual(follows)
    expect(await contentsOf(world.database.follower.scan())).toEqual(await contentsOf(store.scan()))
  })

  it('says in its log why the database does not respond, once', async () => {
    const { world } = await started()
    world.connection.cut = 'before'
    await world.clock.advance(60_000)
    const lines = world.logged.filter((line) => line.includes('The connection is cut'))
    expect(lines).toHaveLength(1)
  })

  it('does not wait for a slow database longer than five seconds', async () => {
    const { world, store } = await started()
    world.connection.cut = 'silent'
    const saved = save(store, '1')
    await world.clock.advance(5_000)
    await saved
    expect(store.status().reasons.join()).toContain('slow')
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    expect(store.status()).toEqual(follows)
  })

  it('waits again for a database that was too slow only once it answers within a second', async () => {
    const world = createMirrorWorld()
    const { put } = world.database.follower
    let takesMs = 0
    world.database.follower.put = async (...args) => {
      await world.clock.sleep(takesMs)
      return put(...args)
    }
    const store = await world.start()
    const tookMs = async () => {
      const at = world.clock.now()
      await world.clock.until(save(store, '1'))
      return world.clock.now() - at
    }
    await world.clock.advance(2_000)
    takesMs = 5_500
    expect(await tookMs()).toBe(5_000)
    for (let count = 0; count < 5; count++) {
      await world.clock.advance(7_000)
      expect(await tookMs()).toBeLessThan(600)
    }
    expect(store.status().reasons.join()).toContain('slow')
    takesMs = 100
    await world.clock.advance(20_000)
    expect(await tookMs()).toBe(100)
    expect(store.status()).toEqual(follows)
  })

  it('does not wait for a change of others that its file then refuses', async () => {
    const full = { code: 'ERR_SQLITE_ERROR', errcode: 13 }
    for (let hops = 0; hops < 9; hops++) {
      const { world, store } = await started()
      const { db } = world.file
      const exec = db.exec.bind(db)
      let commits = 0
      const saveLater = async () => {
        for (let hop = 0; hop < hops; hop++) await Promise.resolve()
        await store.save({ kind: 'event', event: eventOf('e', 1) })
      }
      db.exec = (sql) => {
        if (sql === 'COMMIT' && ++commits === 2) throw Object.assign(new Error('is full'), full)
        exec(sql)
        if (sql === 'COMMIT' && commits === 1) void saveLater()
      }
      // Both may be in one wait: then it fails at once.
      const code = await world.clock.until(codeOf(save(store, '1')))
      expect(code === undefined || code === 'unavailable').toBe(true)
      expect(commits).toBeGreaterThan(1)
    }
  })

  it('calls those who cached what its file then refuses', async () => {
    const { world, store } = await started()
    let heard = 0
    store.commits.onLost(() => heard++)
    refuseCommits(world)
    expect(await world.clock.until(codeOf(save(store, '1')))).toBe('unavailable')
    expect(heard).toBe(1)
  })

  it('still follows when its file cannot note what was sent, and notes it later', async () => {
    const { world, store } = await started()
    const { db } = world.file
    db.exec(`CREATE TRIGGER busy BEFORE UPDATE OF sent ON mirror
      BEGIN SELECT RAISE(FAIL, 'busy'); END`)
    await world.clock.until(save(store, '1'))
    await world.clock.advance(5_000)
    expect(world.logged.join()).toContain('does not note')
    expect(store.status()).toEqual(follows)
    db.exec('DROP TRIGGER busy')
    await world.clock.advance(5_000)
    expect(db.prepare('SELECT count(*) AS n FROM unsent').get()).toEqual({ n: 0 })
  })

  it('sends what another process changed in the file within seconds', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1'))
    world.file.db.exec(`UPDATE jobs SET version = 9`)
    await world.clock.advance(2_000)
    expect(world.database.find('job', jobOf('1').id)).toMatchObject({ version: 9 })
  })

  it('sends records within the limit of a message, and in the order of their changes', async () => {
    const puts: (readonly Mirrored[])[] = []
    const world = createMirrorWorld()
    const { put } = world.database.follower
    world.database.follower.put = (mine, heads, states) => {
      if (states.length > 0) puts.push(states)
      return put(mine, heads, states)
    }
    world.connection.cut = 'before'
    const store = await world.start({ startEmpty: true })
    for (const cid of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const bytes = new Uint8Array(1_000_000)
      await store.save({ kind: 'blob', cid, bytes, uploader: 'node', until: 9 })
    }
    for (let count = 0; count < 300; count++) {
      await store.save({ kind: 'event', event: eventOf(`e${count}`, 1) })
    }
    expect(store.status().reasons.join()).toContain(' 306 records wait')
    world.file.db.exec(`
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
      INSERT INTO unsent (kind, id, seq) SELECT 'key', 'k' || i, 9000 + i FROM n`)
    expect(store.status().reasons.join()).toContain('more than 10000 records wait')
    world.file.db.exec("DELETE FROM unsent WHERE kind = 'key'")
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(puts.map((states) => states.length)).toEqual([4, 200, 102])
    const numbers = puts.flat().map(({ seq }) => seq)
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  })

  it('sends fewer records at once to a database that takes too long for many', async () => {
    const world = createMirrorWorld()
    const { put } = world.database.follower
    world.database.follower.put = async (...args) => {
      await world.clock.sleep(args[2].length * 100)
      return put(...args)
    }
    world.connection.cut = 'before'
    const store = await world.start({ startEmpty: true })
    for (let count = 0; count < 300; count++) {
      await store.save({ kind: 'event', event: eventOf(`e${count}`, 1) })
    }
    world.connection.cut = 'none'
    await world.clock.advance(120_000)
    expect(world.database.rows.size).toBe(300)
    expect(store.status()).toEqual(follows)
  })

  it('puts what the database refuses behind the rest, says so, and tries it again', async () => {
    const { world, store } = await started()
    world.database.refuses = ({ id }) =>
      id === jobOf('1').id ? new TypeError('too large') : undefined
    await world.clock.until(save(store, '1'))
    await world.clock.until(save(store, '2'))
    expect(world.database.find('job', jobOf('2').id)).toBeDefined()
    expect(store.status()).toMatchObject({ connected: true, writable: true })
    expect(store.status().reasons).toEqual([expect.stringContaining('refuses 1 records')])
    expect(world.logged.join()).toContain('too large')
    const calls = () => world.connection.calls
    const before = calls()
    for (let count = 0; count < 50; count++) {
      await world.clock.until(save(store, '2', { minTier: count % 3 }))
    }
    expect(calls() - before).toBeLessThan(60)
    world.database.refuses = () => undefined
    await world.clock.advance(62_000)
    expect(tierIn(world, '1')).toBe(0)
    expect(store.status()).toEqual(follows)
  })

  it('ends its round when the database refuses more records than one call has', async () => {
    const { world, store } = await started()
    world.database.refuses = ({ kind }) => (kind === 'event' ? new TypeError('full') : undefined)
    for (let count = 0; count < 250; count++) {
      await store.save({ kind: 'event', event: eventOf(`e${count}`, 1) })
    }
    await world.clock.advance(2_000)
    expect(world.connection.calls).toBeLessThan(270)
    await world.clock.until(store.close())
    expect(world.logged.join()).toContain('{"records":250}')
    world.database.refuses = () => undefined
    await world.start()
    await world.clock.advance(2_000)
    expect(world.database.rows.size).toBe(250)
  })

  it('takes no older state that arrives late, even of a record that is gone, and forgets its number hours later', async () => {
    const { world, store } = await started()
    world.lateMs = 300_000
    world.connection.cut = 'late'
    const saved = store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 9 })
    await world.clock.advance(11_000)
    await saved
    world.connection.cut = 'none'
    await store.save({ kind: 'release-key', key: 'k', value: 'v' })
    await world.clock.advance(30_000)
    expect(world.database.rows.get('key:k')).toMatchObject({ record: undefined })
    await world.clock.advance(400_000)
    expect(world.database.find('key', 'k')).toBeUndefined()
    await world.clock.advance(3 * hourMs)
    expect(world.database.rows.size).toBe(0)
  })
})

describe('a store that stops', () => {
  it('sends the rest first, and frees its database', async () => {
    const { world, store } = await started()
    await store.save({ kind: 'job', job: jobOf('1'), base: 0 })
    await world.clock.until(store.close())
    expect(tierIn(world, '1')).toBe(0)
    expect(world.database.owner?.isFree).toBe(true)
  })

  for (const cut of ['before', 'silent', 'mute'] as const) {
    it(`leaves what the database lacks to its next start, and says how much (${cut})`, async () => {
      const { world, store } = await started()
      world.connection.cut = cut
      await world.clock.until(save(store, '1'))
      await world.clock.until(store.close())
      expect(world.logged.join()).toMatch(/wait in the file for the next start \{"records":1\}/)
      expect(world.database.owner?.isFree).toBe(false)
      world.connection.cut = 'none'
      await world.start()
      await world.clock.advance(2_000)
      expect(tierIn(world, '1')).toBe(0)
      expect(world.logged.join()).not.toMatch(/has lost records|lacks a record/)
    })
  }

  it('starts without its database after a kill with all that it knew', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1', { minTier: 2 }))
    world.crash()
    world.connection.cut = 'before'
    const next = await world.start()
    expect((await next.findJob(jobOf('1').id))?.document.minTier).toBe(2)
    await world.clock.until(save(next, '1', { minTier: 3 }))
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(tierIn(world, '1')).toBe(3)
  })
})

describe('a new file', () => {
  it('is filled from the database before anything is served', async () => {
    const world = worldOf({ isFree: true })
    world.connection.cut = 'before'
    const store = await world.start()
    expect(await codeOf(store.findJob(jobOf('1').id))).toBe('unavailable')
    expect(store.status()).toMatchObject({ connected: false, writable: false })
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(await store.findJob(jobOf('1').id)).toMatchObject({ version: 3 })
    await world.clock.until(save(store, '1', { minTier: 6 }))
    expect(tierIn(world, '1')).toBe(6)
  })

  it('that was not filled to its end is filled by its next process', async () => {
    const world = worldOf({ isFree: true })
    let scans = 0
    const { scan } = world.database.follower
    world.database.follower.scan = async function* () {
      if (scans++ === 0) throw new Error('broken')
      yield* scan()
    }
    await world.start()
    world.crash()
    const store = await world.start()
    await world.clock.advance(2_000)
    expect(await store.findJob(jobOf('1').id)).toMatchObject({ version: 3 })
  })

  it('shows others that its owner runs while it is filled', async () => {
    const world = worldOf({ kind: 'memory', isFree: true })
    const { scan } = world.database.follower
    world.database.follower.scan = async function* () {
      for (let n = 0; n < 9; n++) yield world.clock.sleep(4_000).then(() => blobOf(`${n}`))
      yield* scan()
    }
    void world.start()
    await world.clock.advance(4_000)
    const { beats = 0 } = world.database.owner ?? {}
    await world.clock.advance(20_000)
    expect(world.database.owner?.beats).toBeGreaterThan(beats + 1)
  })

  it('keeps nothing of an earlier fill that the database has no more', async () => {
    const world = worldOf({ isFree: true })
    const { scan } = world.database.follower
    world.database.follower.scan = async function* () {
      for (let n = 0; n < 300; n++) yield blobOf(`${n}`)
      throw new Error('cut off')
    }
    await world.start()
    world.crash()
    world.database.follower.scan = scan
    const next = await world.start()
    expect([...(await contentsOf(next.scan())).keys()]).toEqual([`job:${jobOf('1').id}`])
    await world.clock.advance(2_000)
    expect([...world.database.rows.keys()]).toEqual([`job:${jobOf('1').id}`])
  })

  it('serves a job from end to end when it may start empty, and gets what the database has later', async () => {
    const world = worldOf({ isFree: true })
    const { address } = walletOf('n1')
    const event = { ...eventOf('e', 1, address), code: 'verdict-refuted' } as const
    world.database.rows.set('event:e', {
      ...{ kind: 'event', id: 'e', seq: 6, record: { kind: 'event', event } },
    })
    world.connection.cut = 'before'
    const store = await world.start({ startEmpty: true })
    expect(store.status()).toMatchObject({ connected: false, writable: true, partial: true })
    const icl = await createReplica({ clock: world.clock, chain: createFakeChain(), store })
    const nodes = []
    for (const name of ['n1', 'n2', 'n3']) nodes.push(await joinNode(icl, name))
    const ran = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    expect((await ran.view()).status).toBe('accepted')
    world.connection.cut = 'none'
    await world.clock.advance(20_000)
    expect(store.status()).toEqual(follows)
    expect(world.database.find('job', ran.jobId)).toMatchObject({ job: { phase: 'accepted' } })
    expect(await store.findJob(jobOf('1').id)).toBeDefined()
    const node = (await store.findNode(address))?.document
    expect(node?.standing).toEqual((await foldStanding(store, node!, undefined, 0)).standing)
    expect(node?.standing.score).toBeLessThan(newcomer.score)
    await icl.stop()
  })

  it('keeps its own state of a record that the database has, too', async () => {
    const world = worldOf({ isFree: true })
    world.connection.cut = 'before'
    const store = await world.start({ startEmpty: true })
    await world.clock.until(save(store, '1', { minTier: 9 }))
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(tierIn(world, '1')).toBe(9)
    expect((await store.findJob(jobOf('1').id))?.document.minTier).toBe(9)
  })

  it('of a store that had no database is sent as a whole to an empty one', async () => {
    const world = createMirrorWorld()
    const alone = world.file.open()
    await alone.save({ kind: 'job', job: jobOf('1'), base: 0 })
    await alone.save({ kind: 'event', event: eventOf('e', 1) })
    await world.start()
    await world.clock.advance(2_000)
    expect([...world.database.rows.keys()]).toEqual([`job:${jobOf('1').id}`, 'event:e'])
  })
})

describe('a database that is not as the file left it', () => {
  it('gets everything again when it is older, and loses what the file has deleted', async () => {
    const { world, store } = await started()
    await store.save({
      kind: 'blob',
      cid: 'c',
      bytes: new Uint8Array(1),
      uploader: 'icl',
      until: 9,
    })
    await world.clock.until(save(store, '1', { minTier: 2 }))
    await world.clock.advance(2_000)
    const backup = { rows: [...world.database.rows], owner: world.database.owner }
    await store.erase({ kind: 'blob', cid: 'c' })
    await world.clock.until(save(store, '1', { minTier: 3 }))
    await world.clock.until(save(store, '2'))
    await world.clock.until(store.close())
    world.database.rows.clear()
    for (const [name, row] of backup.rows) world.database.rows.set(name, row)
    world.database.owner = backup.owner
    const next = await world.start()
    await world.clock.advance(2_000)
    expect(world.logged.join()).toContain('has lost records')
    expect(await contentsOf(world.database.follower.scan())).toEqual(await contentsOf(next.scan()))
    expect(world.database.find('blob', 'c')).toBeUndefined()
  })

  it('deletes rows page by page, in as much time as that takes', async () => {
    const { world, store } = await started()
    for (const id of ['a', 'b', 'c', 'd']) {
      await store.save({ kind: 'event', event: eventOf(id, 1) })
    }
    await world.clock.until(store.close())
    world.database.owner = { ...owner(), ...world.database.owner, head: 0 }
    world.database.rows.set('event:old', { kind: 'event', id: 'old', seq: 1, record: undefined })
    const { sweep } = world.database.follower
    world.database.follower.sweep = async function* (upTo) {
      for await (const _ of sweep(upTo)) yield world.clock.sleep(4_000)
    }
    await world.start()
    await world.clock.advance(60_000)
    expect(world.database.rows.has('event:old')).toBe(false)
    expect(world.logged.join()).not.toContain('no answer')
  })

  it('shows that its owner runs while rows are deleted, and ends that when it has another', async () => {
    const { world, store } = await started()
    await store.save({ kind: 'event', event: eventOf('a', 1) })
    await world.clock.until(store.close())
    world.database.owner = { ...owner(), ...world.database.owner, head: 0 }
    const old = Array.from({ length: 20 }, (_, n) => eventOf(`old ${n}`, 1))
    for (const event of old) {
      const record = { kind: 'event', event } as const
      world.database.rows.set(`event:${event.id}`, { ...record, id: event.id, seq: 0, record })
    }
    const { sweep } = world.database.follower
    world.database.follower.sweep = async function* (upTo) {
      for await (const _ of sweep(upTo)) yield world.clock.sleep(4_000)
    }
    await world.start()
    await world.clock.advance(4_000)
    const { beats = 0 } = world.database.owner ?? {}
    await world.clock.advance(20_000)
    expect(world.database.owner?.beats).toBeGreaterThan(beats + 1)
    world.database.owner = owner({ kind: 'shared', file: 'shared' })
    const { size } = world.database.rows
    await world.clock.advance(300_000)
    expect(world.database.rows.size).toBeGreaterThan(size - 3)
  })

  it('still follows when what is gone cannot be deleted there', async () => {
    const world = createMirrorWorld()
    let calls = 0
    // biome-ignore lint/correctness/useYield: It ends before it has one.
    world.database.follower.forget = async function* () {
      calls++
      throw new Error('too slow')
    }
    const store = await world.start()
    await world.clock.advance(3 * hourMs)
    expect(calls).toBe(4)
    expect(store.status()).toEqual(follows)
    expect(world.logged.join()).not.toContain('continues without')
  })

  it('keeps the older state of a record that it refuses', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1', { minTier: 2 }))
    await world.clock.until(save(store, '2'))
    const { owner: backup } = world.database
    await world.clock.until(save(store, '1', { minTier: 3 }))
    await world.clock.until(store.close())
    world.database.owner = backup
    world.database.refuses = ({ id }) => (id === jobOf('1').id ? new TypeError('large') : undefined)
    const next = await world.start()
    await world.clock.advance(2_000)
    expect(next.status().reasons.join()).toContain('refuses 1')
    expect(tierIn(world, '1')).toBe(3)
    world.database.refuses = () => undefined
    await world.clock.advance(70_000)
    expect(next.status()).toEqual(follows)
  })

  it('gets everything when it is empty', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1'))
    await world.clock.until(store.close())
    world.database.rows.clear()
    world.database.owner = undefined
    await world.start()
    await world.clock.advance(2_000)
    expect(tierIn(world, '1')).toBe(0)
  })

  it('ends the start of a file that is older, with the remedy', async () => {
    const { world, store } = await started()
    await world.clock.until(save(store, '1'))
    const older = world.file.db.prepare('SELECT * FROM mirror_marks').all()
    await world.clock.until(store.close())
    await world.clock.until(save(await world.start(), '1', { minTier: 5 }))
    world.crash()
    // The file of before, restored.
    world.file.db.exec('DELETE FROM mirror_marks; UPDATE mirror SET seq = 1, sent = 1')
    for (const { mark, since } of older) {
      const add = world.file.db.prepare('INSERT INTO mirror_marks (mark, since) VALUES (?, ?)')
      add.run(String(mark), Number(since))
    }
    await expect(world.start()).rejects.toMatchObject({
      code: 'store-behind',
      hint: expect.stringContaining('Put the newest file'),
    })
    // It has more changes than the database by now, but they are others.
    world.connection.cut = 'before'
    const store2 = await world.start()
    for (let minTier = 0; minTier < 9; minTier++) {
      await world.clock.until(save(store2, '1', { minTier }))
    }
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    expect(store2.status()).toMatchObject({ writable: false })
    expect(store2.status().reasons.join()).toContain('the file is older')
    expect(tierIn(world, '1')).toBe(5)
  })

  it('of another file is left alone by one that has records', async () => {
    const world = worldOf({ isFree: true })
    const alone = world.file.open()
    await alone.save({ kind: 'job', job: jobOf('2'), base: 0 })
    await expect(world.start()).rejects.toMatchObject({
      code: 'store-foreign',
      message: expect.stringContaining('host:other.db'),
      hint: expect.stringContaining('move the file away'),
    })
    expect(world.database.rows.size).toBe(1)
  })
})

describe('two ICLs on one database', () => {
  it('are refused: the second does not start, and says who has it and what to do', async () => {
    const { world } = await started()
    world.file = createFile()
    await expect(world.start({ name: 'b' })).rejects.toMatchObject({
      code: 'store-locked',
      message: expect.stringContaining('(a)'),
      hint: expect.stringMatching(/SVC_ICL_REPLICAS.*admin unlock/),
    })
  })

  it('that started apart: the second saves nothing more once it sees the first, and keeps what it has', async () => {
    const { world } = await started()
    world.file = createFile()
    world.connection = { ...world.connection, cut: 'before' }
    const second = await world.start({ name: 'b', startEmpty: true })
    await world.clock.until(save(second, '1'))
    world.connection.cut = 'none'
    await world.clock.advance(10_000)
    const refusal: unknown = await save(second, '2').catch((error: unknown) => error)
    expect(String(refusal)).toContain('its operator')
    expect(String(refusal)).not.toContain('(a)')
    expect(second.status()).toMatchObject({ connected: false, writable: false })
    expect(second.status().reasons.join()).toContain('Another ICL has this database (a)')
    await expect(save(second, '2')).rejects.toMatchObject({ code: 'unavailable' })
    expect(world.file.db.prepare('SELECT count(*) AS n FROM unsent').get()).toEqual({ n: 1 })
  })

  it('the one that lost its database acknowledges nothing more', async () => {
    const { world, store } = await started()
    // The operator has freed it for another, which runs now.
    world.database.owner = owner()
    await store.save({ kind: 'job', job: jobOf('1'), base: 0 })
    await world.clock.advance(10_000)
    await expect(save(store, '2')).rejects.toMatchObject({ code: 'unavailable' })
    expect(store.status().reasons.join()).toContain('host:other.db')
    expect(world.database.rows.size).toBe(0)
  })

  it('one that lost its database to another acknowledges nothing while it cannot see who has it', async () => {
    const { world, store } = await started()
    world.database.owner = owner()
    world.connection.cut = (name) => (name === 'owner' ? 'before' : 'none')
    expect(await world.clock.until(codeOf(save(store, '1')))).toBe('unavailable')
    for (let n = 0; n < 9; n++) {
      await world.clock.advance(1_000)
      expect(await codeOf(store.findJob(jobOf('1').id))).toBe('unavailable')
    }
  })

  it('one in memory that another replaced acknowledges nothing more, also not by the file alone', async () => {
    const { world, store } = await started({ whyInMemory: 'there is no disk' })
    world.database.owner = owner({ kind: 'memory' })
    const saved = codeOf(save(store, '1'))
    await world.clock.advance(1_000)
    expect(await saved).toBe('unavailable')
    expect(store.status()).toMatchObject({ writable: false })
  })

  it('one that was freed while it was cut off claims its database before it writes there again', async () => {
    const { world, store } = await started()
    world.database.owner = { ...owner(), ...world.database.owner, isFree: true }
    await world.clock.until(save(store, '1'))
    expect(world.database.owner).toMatchObject({ name: 'a', isFree: false })
    expect(tierIn(world, '1')).toBe(0)
  })

  for (const kind of ['memory', 'shared'] as const) {
    it(`one that is silent for 20 s has no file to come back with (${kind}): the next takes over`, async () => {
      const world = worldOf({ kind })
      const store = await world.start()
      expect(store.status()).toMatchObject({ writable: false })
      await world.clock.advance(25_000)
      expect(await store.findJob(jobOf('1').id)).toMatchObject({ version: 3 })
      expect(world.database.owner?.name).toBe('a')
    })

    it(`one that beats keeps it (${kind})`, async () => {
      const world = worldOf({ kind })
      const store = await world.start()
      await world.clock.advance(10_000)
      world.database.owner = owner({ kind, beats: 2 })
      await world.clock.advance(15_000)
      expect(store.status().reasons.join()).toContain('Another ICL has this database')
      expect(world.database.owner.beats).toBe(2)
    })
  }
})

it('a store in memory says that a crash loses what the database does not have, and what a stop loses', async () => {
  const { world, store } = await started({ whyInMemory: 'there is no disk' })
  expect(store.durable).toBe(false)
  expect(store.status().reasons).toEqual([
    'there is no disk: a crash loses what the database does not have',
  ])
  expect(world.database.owner?.kind).toBe('memory')
  world.connection.cut = 'before'
  await world.clock.until(save(store, '1'))
  await world.clock.until(store.close())
  expect(world.logged.join()).toMatch(/are lost \{"records":1\}/)
})

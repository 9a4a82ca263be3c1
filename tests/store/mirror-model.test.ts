import { expect, it } from 'vitest'
import type { Store, Write } from '../../icl/store/store.ts'
import { createDice, type Dice } from '../simulation/dice.ts'
import type { Cut } from './cut-store.ts'
import { contentsOf, createMirrorWorld, type MirrorWorld } from './mirror-world.ts'
import { eventOf, jobOf } from './suite.ts'

const runs = 40
const stepsPerRun = 60
const cuts: readonly Cut[] = ['before', 'after', 'silent', 'mute', 'late']
const digits = ['1', '2', '3']

/** What clients were told of the marks that they added to jobs: each save adds its own, so that a lost one shows. */
type Told = Map<string, 'acknowledged' | 'refused' | 'unknown'>

const marksOf = (modelId: string | undefined): readonly string[] => modelId?.split(',') ?? []

/** Saves a job with one more mark, with a key and an event of that mark. Resolves once the answer may be sent. */
async function addMark(store: Store, digit: string, told: Told): Promise<void> {
  const mark = `${digit}-${told.size}`
  told.set(mark, 'unknown')
  const barrier = store.commits.barrier()
  const found = await store.findJob(jobOf(digit).id)
  const modelId = [...marksOf(found?.document.modelId), mark].join(',')
  const writes: Write[] = [
    { kind: 'key', key: `k${mark}`, value: mark, now: 0, expiresAt: 1e15 },
    { kind: 'event', event: eventOf(mark, 1) },
    { kind: 'job', job: jobOf(digit, { modelId }), base: found?.version ?? 0 },
  ]
  const refused = await store.saveAll(writes)
  await barrier()
  told.set(mark, refused ? 'refused' : 'acknowledged')
}

/** Makes and forgets records that others make again. */
async function churn(store: Store, dice: Dice, now: number): Promise<void> {
  const barrier = store.commits.barrier()
  const cid = `c${dice.between(1, 3)}`
  const [key, value] = [`t${dice.between(1, 3)}`, 'v']
  const bytes = new Uint8Array(dice.between(1, 9))
  const changes: readonly (() => Promise<unknown>)[] = [
    () => store.save({ kind: 'key', key, value, now, expiresAt: now + dice.between(1, 9_000) }),
    () => store.save({ kind: 'release-key', key, value }),
    () => store.save({ kind: 'blob', cid, bytes, uploader: 'node', until: now + 9_000 }),
    () => store.erase({ kind: 'blob', cid }),
    () => store.prune({ now, settledBefore: 0, limit: 9 }),
  ]
  await dice.pick(changes)()
  await barrier()
}

function cutAnyhow({ connection }: MirrorWorld, dice: Dice): void {
  const some = () => (dice.chance(0.3) ? dice.pick(cuts) : 'none')
  connection.cut = dice.pick([...cuts, 'none', 'none', 'none', some])
}

/** Nothing that the database has is ahead of what is committed. */
function expectBehind({ database, file }: MirrorWorld): void {
  const seq = Number(file.db.prepare('SELECT seq FROM mirror').get()?.seq ?? 0)
  expect(database.owner?.head ?? 0).toBeLessThanOrEqual(seq)
  for (const row of database.rows.values()) expect(row.seq).toBeLessThanOrEqual(seq)
}

async function run(seed: number): Promise<void> {
  const dice = createDice(seed)
  const world = createMirrorWorld()
  const { clock, database } = world
  const told: Told = new Map()
  let backup = { rows: new Map(database.rows), owner: database.owner }
  let store = await world.start()
  for (let step = 0; step < stepsPerRun; step++) {
    if (dice.chance(0.5)) cutAnyhow(world, dice)
    world.lateMs = dice.pick([300, 6_000, 12_000])
    database.refuses = () => (dice.chance(0.05) ? new TypeError('no such record') : undefined)
    const clients = Array.from({ length: dice.between(1, 5) }, () =>
      dice.chance(0.6) ? addMark(store, dice.pick(digits), told) : churn(store, dice, clock.now()),
    )
    const working = Promise.allSettled(clients)
    if (dice.chance(0.15)) {
      // The process ends in the middle of it. What the database still has under way arrives late.
      await clock.advance(dice.between(0, 50))
      world.crash()
      expectBehind(world)
      if (dice.chance(0.5)) world.connection.cut = 'before'
      store = await world.start()
    } else if (dice.chance(0.1)) {
      await clock.until(working)
      await clock.until(store.close())
      store = await world.start()
    } else await clock.until(working)
    if (dice.chance(0.3)) await clock.advance(dice.between(0, 20_000))
    if (dice.chance(0.1)) backup = { rows: new Map(database.rows), owner: database.owner }
    if (dice.chance(0.05)) {
      // The operator restores a backup of the database.
      database.rows.clear()
      for (const [name, row] of backup.rows) database.rows.set(name, row)
      database.owner = backup.owner
    }
    expectBehind(world)
  }
  world.connection.cut = 'none'
  database.refuses = () => undefined
  await clock.advance(180_000)

  expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
  for (const digit of digits) {
    const found = await store.findJob(jobOf(digit).id)
    const there = marksOf(found?.document.modelId)
    expect(new Set(there).size).toBe(found?.version ?? 0)
    for (const [mark, outcome] of told) {
      if (!mark.startsWith(digit) || outcome === 'unknown') continue
      const isDone = outcome === 'acknowledged'
      expect([mark, there.includes(mark)]).toEqual([mark, isDone])
      expect(await store.findKey(`k${mark}`, 0)).toBe(isDone ? mark : undefined)
    }
  }
  const here = await contentsOf(store.scan())
  expect(await contentsOf(database.follower.scan())).toEqual(here)
  await clock.until(store.close())
}

it('whatever the connection, the database and the process do, nothing that was acknowledged is lost, nothing that was refused is done, and the database has in the end what the file has', async () => {
  for (let seed = 1; seed <= runs; seed++) {
    await run(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
  }
}, 300_000)

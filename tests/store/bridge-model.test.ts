import { expect, it } from 'vitest'
import { joinReplicas } from '../../icl/records/replicas.ts'
import type { Job } from '../../icl/rules/job.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { type BridgeWorld, createBridgeWorld, jobOf } from './bridge-world.ts'
import type { Cut } from './cut-store.ts'

const runs = 30
const stepsPerRun = 60

/** Numbers that look random and are the same for the same seed. */
function randomOf(seed: number) {
  let state = seed
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    below: (limit: number) => Math.floor(next() * limit),
    of: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!,
    chance: (part: number) => next() < part,
  }
}

type Choice = ReturnType<typeof randomOf>
type Outcome = 'acknowledged' | 'refused' | 'unknown'

/** What clients were told: each save adds its own mark to its document, so that a lost one shows. */
type Told = {
  readonly marks: Map<string, Outcome>
  /** Marks that come with an event and a key. */
  readonly events: Set<string>
  readonly blobs: Set<string>
  /** The takeovers of a key; each value names those before it. */
  readonly takeovers: Map<string, Outcome>
  count: number
}

const marksOf = (job: Job | undefined): readonly string[] => job?.modelId.split(',') ?? []

/** Reads a job and saves it with one more mark. */
async function addMark(store: Store, digit: string, told: Told): Promise<void> {
  const mark = `${digit}${told.count++}`
  const base = jobOf(digit)
  const found = await store.findJob(base.id)
  // The copy may lack it.
  if (!found && store.status().partial) return
  told.marks.set(mark, 'unknown')
  const job = { ...base, modelId: [...(found ? marksOf(found.document) : []), mark].join(',') }
  const event = { id: mark, node: nodeA, jobId: job.id, code: 'answer-delivered', at: 1 } as const
  const key = { kind: 'key', key: `m${mark}`, value: mark, now: 0, expiresAt: 1e15 } as const
  const others: Write[] = told.count % 3 === 0 ? [key, { kind: 'event', event }] : []
  const refused = await store.saveAll([...others, { kind: 'job', job, base: found?.version ?? 0 }])
  if (others.length > 0) told.events.add(mark)
  const saved = refused === undefined
  told.marks.set(mark, saved ? 'acknowledged' : 'refused')
}

/** Takes the one key over from the one who has it. */
async function takeOver(store: Store, told: Told, now: number): Promise<void> {
  const mark = `t${told.count++}`
  const insteadOf = await store.findKey('taken', now)
  if (insteadOf === undefined && store.status().partial) return
  const value = [insteadOf, mark].filter((part) => part !== undefined).join(',')
  told.takeovers.set(mark, 'unknown')
  const key = { kind: 'key', key: 'taken', value, insteadOf, now, expiresAt: 1e15 } as const
  told.takeovers.set(mark, (await store.save(key)) ? 'acknowledged' : 'refused')
}

async function saveOther(store: Store, choice: Choice, told: Told, now: number): Promise<void> {
  const name = `n${told.count++}`
  const write = choice.of<Write>([
    { kind: 'key', key: `k${choice.below(3)}`, value: name, now, expiresAt: now + 500 },
    { kind: 'release-key', key: `k${choice.below(3)}`, value: name },
    { kind: 'blob', cid: name, bytes: new Uint8Array([1]), uploader: 'node', until: now + 1e9 },
    { kind: 'keep-blob', cid: `n${choice.below(told.count)}`, until: now + 2e9 },
  ])
  if ((await store.save(write)) && write.kind === 'blob') told.blobs.add(name)
}

/** Lets several clients save at once while the connection does what it likes. */
function step(world: BridgeWorld, store: Store, choice: Choice, told: Told) {
  const cuts: readonly Cut[] = ['before', 'after', 'silent', 'mute', 'late']
  world.scanPauseMs = choice.of([0, 0, 100, 1_000])
  world.lateMs = choice.of([3_000, 11_000, 20_000])
  const dice = choice.below(12)
  if (dice < 3) world.connection.cut = choice.of(cuts)
  else if (dice < 5) world.connection.cut = 'none'
  else if (dice < 6) {
    world.connection.cut = () => (choice.chance(0.2) ? choice.of(cuts) : 'none')
  } else if (dice < 7) world.disk.isFull = () => choice.chance(0.3)
  else world.disk.isFull = choice.chance(0.1)
  const clients = Array.from({ length: 1 + choice.below(5) }, () => {
    if (choice.chance(0.7)) return addMark(store, choice.of(['1', '2', '3']), told)
    const now = world.clock.now()
    return choice.chance(0.3) ? takeOver(store, told, now) : saveOther(store, choice, told, now)
  })
  // A save that is refused with an error may have been done or not.
  return Promise.allSettled(clients)
}

/** Lets saves hang that the database may have done. Others find it away meanwhile, and it answers again, slowly, before they end. */
async function hang(world: BridgeWorld, store: Store, choice: Choice, told: Told) {
  const { connection } = world
  const mark = () => addMark(store, choice.of(['1', '2', '3']), told)
  // A save that is refused with an error may have been done or not.
  const markOften = async () => {
    for (let times = 1 + choice.below(4); times > 0; times--) await mark().catch(() => {})
  }
  connection.cut = (name) =>
    name === 'saveAll' ? choice.of<Cut>(['silent', 'mute', 'late']) : 'none'
  world.lateMs = choice.of([300, 6_000, 11_000])
  const clients = Array.from({ length: 1 + choice.below(3) }, markOften)
  for (let turns = 20; turns > 0; turns--) await Promise.resolve()
  connection.cut = 'before'
  // More than the bridge replays in one go while saves wait.
  const many = choice.of([0, 80, 200])
  for (let count = 0; count < many; count++) {
    clients.push(saveOther(store, choice, told, world.clock.now()).catch(() => {}))
  }
  await world.clock.advance(choice.below(11_000))
  world.lateMs = 300
  connection.cut = () => (choice.chance(0.5) ? 'late' : 'none')
  clients.push(markOften())
  await world.clock.until(Promise.all(clients))
}

async function run(seed: number): Promise<void> {
  const choice = randomOf(seed)
  const world = createBridgeWorld()
  const told: Told = {
    ...{ marks: new Map(), events: new Set(), blobs: new Set(), takeovers: new Map(), count: 0 },
  }
  let store = await world.start()
  for (let count = 0; count < stepsPerRun; count++) {
    if (choice.chance(0.1)) await world.clock.advance(choice.below(20_000))
    // A command of the operator was there: the copy is filled anew.
    if (choice.chance(0.1)) await joinReplicas(world.database, `guest ${count}`, world.clock.now())
    if (choice.chance(0.15)) await hang(world, store, choice, told)
    const working = step(world, store, choice, told)
    if (choice.chance(0.08)) {
      // The process ends in the middle of it, and so does all that it had under way.
      for (let turns = choice.below(12); turns > 0; turns--) await Promise.resolve()
      world.crash()
      world.disk.isFull = false
      await world.clock.until(working)
      if (choice.chance(0.5)) world.connection.cut = choice.of(['before', 'after'])
      store = await world.start()
    } else await world.clock.until(working)
    if (choice.chance(0.05)) {
      await world.clock.until(store.close())
      world.disk.isFull = false
      if (choice.chance(0.5)) world.connection.cut = choice.of(['before', 'after', 'none'])
      store = await world.start()
    }
  }
  world.connection.cut = 'none'
  world.disk.isFull = false
  // Long enough for a fill that failed to be tried again.
  world.scanPauseMs = 0
  await world.clock.advance(180_000)
  // Takes what the disk had rejected into the copy.
  await world.clock.until(addMark(store, '1', told))

  expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
  expect(world.disk.waiting()).toBe(0)
  for (const digit of ['1', '2', '3']) {
    const found = await world.database.findJob(jobOf(digit).id)
    const there = marksOf(found?.document)
    const told1 = [...told.marks].filter(([mark]) => mark[0] === digit)
    const of = (outcome: Outcome) =>
      told1.filter((entry) => entry[1] === outcome).map(([mark]) => mark)
    expect(of('acknowledged').filter((mark) => !there.includes(mark))).toEqual([])
    expect(of('refused').filter((mark) => there.includes(mark))).toEqual([])
    // One version for each save that was done, none for any other.
    expect(found?.version ?? 0).toBe(there.length)
    expect(new Set(there).size).toBe(there.length)
    expect((await store.findJob(jobOf(digit).id))?.document).toEqual(found?.document)
  }
  const recorded = (await world.database.listReputationEvents(nodeA, { limit: 1_000 })).map(
    ({ id }) => id,
  )
  for (const mark of told.events) {
    const isThere = told.marks.get(mark) === 'acknowledged'
    expect([mark, recorded.includes(mark)]).toEqual([mark, isThere])
    expect(await world.database.findKey(`m${mark}`, 0)).toBe(isThere ? mark : undefined)
  }
  for (const cid of told.blobs) expect(await world.database.findBlob(cid)).toBeDefined()
  const taken = (await world.database.findKey('taken', 0))?.split(',') ?? []
  const takeoversOf = (outcome: Outcome) =>
    [...told.takeovers].filter((entry) => entry[1] === outcome).map(([mark]) => mark)
  expect(takeoversOf('acknowledged').filter((mark) => !taken.includes(mark))).toEqual([])
  expect(takeoversOf('refused').filter((mark) => taken.includes(mark))).toEqual([])

  // Without the database, the copy tells the same.
  const now = world.clock.now()
  const all = async (from: Store) => ({
    jobs: await from.listJobs({ limit: 10 }),
    keys: await from.listKeys('', now),
    events: await from.listReputationEvents(nodeA, { limit: 1_000 }),
  })
  const there = await all(world.database)
  world.connection.cut = 'before'
  expect(await world.clock.until(all(store))).toEqual(there)
  expect(store.status()).toMatchObject({ connected: false, writable: true })
  expect(store.status().partial).toBeUndefined()
}

it('whatever the connection, the disk and the process do nothing that was acknowledged is lost, nothing that was refused is done, nothing is done twice', async () => {
  for (let seed = 1; seed <= runs; seed++) {
    await run(seed).catch((error: unknown) => {
      throw new Error(`seed ${seed}`, { cause: error })
    })
  }
})

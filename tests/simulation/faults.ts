import type { Cut } from '../store/cut-store.ts'
import { chainAway } from './chain.ts'
import type { Dice } from './dice.ts'
import type { Ground } from './ground.ts'
import type { Machine } from './machine.ts'
import type { MirrorDisk } from './mirror-disk.ts'
import type { FaultKind, Parameters } from './parameters.ts'
import type { World } from './world.ts'

/** What faults happen to. */
export type Stage = {
  readonly ground: Ground
  readonly world: World
  readonly machines: readonly Machine[]
  readonly parameters: Parameters
  /** How often each fault happened. */
  readonly counts: Map<string, number>
  /** Ends a replica as kill -9 does; its store may lose what is not on disk. */
  readonly killReplica: (id: string) => Promise<void>
  /** Stops a replica in order, and what it has its store with. */
  readonly stopReplica: (id: string) => Promise<void>
  /** The connection to the database, where it can be cut. */
  readonly connection: Pick<MirrorDisk, 'cut'> | undefined
}

/** Makes a fault happen, and ends it; false when there was nothing that it could happen to. */
type Happening = (
  stage: Stage,
  dice: Dice,
  pause: (ms: number) => Promise<void>,
) => Promise<boolean>

/** Counts a fault. */
export const count = (counts: Map<string, number>, kind: string): void =>
  void counts.set(kind, (counts.get(kind) ?? 0) + 1)

/** Makes one fault after another happen, several at once, until the signal aborts; then ends them all. */
export async function makeTrouble(stage: Stage, signal: AbortSignal): Promise<void> {
  const { ground, parameters, counts } = stage
  const dice = ground.dice.fork('faults')
  const underWay: Promise<void>[] = []
  const pause = (ms: number) => ground.clock.sleep(ms, signal).catch(() => {})
  while (!signal.aborted) {
    await pause(dice.between(1, 2 * parameters.faultEveryMs))
    if (signal.aborted || parameters.faults.length === 0) break
    const kind = dice.pick(parameters.faults)
    const happened = happenings[kind](stage, dice, pause)
    underWay.push(happened.then((isReal) => (isReal ? count(counts, kind) : undefined)))
  }
  await Promise.all(underWay)
}

const replicaOf = ({ world }: Stage, dice: Dice): string | undefined => {
  const ids = [...world.network.replicas.keys()]
  return ids.length === 0 ? undefined : dice.pick(ids)
}

/** Ends a replica in some way, and starts another one a while later. */
const endReplica =
  (what: string, end: (stage: Stage, id: string) => Promise<void>): Happening =>
  async (stage, dice, pause) => {
    const id = replicaOf(stage, dice)
    if (id === undefined) return false
    stage.ground.story.note(id, what)
    await end(stage, id)
    await pause(dice.between(100, 20_000))
    stage.ground.story.note(await stage.world.addReplica(), 'started')
    return true
  }

/** Ends the daemon of a machine in some way, and starts it again `mostMs` later at the latest. */
const endNode =
  (what: string, end: (machine: Machine) => unknown, mostMs: number): Happening =>
  async ({ machines, ground: { story } }, dice, pause) => {
    const machine = dice.pick(machines)
    if (!machine.isUp) return false
    story.note(machine.name, what)
    await end(machine)
    await pause(dice.between(100, mostMs))
    story.note(machine.name, 'started')
    machine.start()
    return true
  }

const cuts: readonly Cut[] = ['before', 'after', 'silent', 'mute']

const happenings: Record<FaultKind, Happening> = {
  'chain-away': async ({ ground: { chain, story } }, dice, pause) => {
    story.note('chain', 'is away')
    chain.down = chainAway()
    await pause(dice.between(2_000, 60_000))
    chain.down = undefined
    story.note('chain', 'is back')
    return true
  },
  'chain-reorganised': async ({ ground: { chain, story } }, _, pause) => {
    // Results stand for good after a few seconds: one has to be met.
    let forgotten = 0
    for (let look = 0; look < 60 && forgotten === 0; look++) {
      await pause(1_000)
      forgotten = chain.reorganise()
    }
    if (forgotten > 0) story.note('chain', `forgets ${forgotten} results`)
    return forgotten > 0
  },
  'chain-throttled': async ({ ground: { chain, story } }, dice, pause) => {
    chain.throttled = dice.next() * 0.8
    story.note('chain', 'answers 429 now and then')
    await pause(dice.between(2_000, 60_000))
    chain.throttled = 0
    return true
  },
  'coprocessor-fails': async ({ ground: { coprocessor, story } }, dice, pause) => {
    coprocessor.failures = dice.next()
    story.note('coprocessor', 'fails now and then')
    await pause(dice.between(2_000, 40_000))
    coprocessor.failures = 0
    return true
  },
  'database-away': async ({ connection, ground: { story } }, dice, pause) => {
    if (connection?.cut !== 'none') return false
    const whole = dice.pick([...cuts, 'flickers' as const])
    story.note('database', whole === 'flickers' ? whole : `is away (${whole})`)
    connection.cut =
      whole === 'flickers' ? () => (dice.chance(0.3) ? dice.pick(cuts) : 'none') : whole
    await pause(dice.pick([2_000, 20_000, 120_000]) * dice.next())
    connection.cut = 'none'
    story.note('database', 'is back')
    return true
  },
  'node-killed': endNode('killed', (machine) => machine.kill(), 90_000),
  'node-stopped': endNode('told to stop', (machine) => machine.stop(), 60_000),
  partition: async ({ world, machines, ground: { network, story } }, dice, pause) => {
    const away = new Set(machines.filter(() => dice.chance(0.4)).map(({ name }) => name))
    const hidden = new Set([...world.network.replicas.keys()].filter(() => dice.chance(0.6)))
    story.note('network', `cuts off ${away.size} nodes from ${hidden.size} replicas`)
    network.isCut = (caller, replica) => away.has(caller) && hidden.has(replica)
    await pause(dice.between(3_000, 90_000))
    network.isCut = () => false
    story.note('network', 'is whole')
    return away.size > 0 && hidden.size > 0
  },
  'provider-fails': async ({ machines, ground: { story } }, dice, pause) => {
    const { name, habits } = dice.pick(machines)
    story.note('provider', `fails for ${name}`)
    habits.provider.failures = dice.next()
    await pause(dice.between(5_000, 60_000))
    habits.provider.failures = 0
    return true
  },
  'replica-frozen': async (stage, dice, pause) => {
    const id = replicaOf(stage, dice)
    if (id === undefined) return false
    stage.ground.story.note(id, 'frozen')
    const thaw = stage.world.freezeReplica(id)
    await pause(dice.between(1_000, 40_000))
    thaw()
    stage.ground.story.note(id, 'goes on')
    return true
  },
  'replica-killed': endReplica('killed', (stage, id) => stage.killReplica(id)),
  'replica-stopped': endReplica('told to stop', (stage, id) => stage.stopReplica(id)),
  'store-away': async ({ world: { store }, ground: { story } }, dice, pause) => {
    story.note('store', 'is away')
    store.isAway = true
    await pause(dice.between(500, 30_000))
    store.isAway = false
    story.note('store', 'is back')
    return true
  },
}

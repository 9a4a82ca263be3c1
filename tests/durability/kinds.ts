import { systemClock } from '../../lib/system.ts'
import { databaseKinds } from './database-kinds.ts'
import { networkKinds } from './network-kinds.ts'
import { partKinds } from './part-kinds.ts'
import { type Ending, endings } from './preload.ts'
import { controlOf, endItself, type FaultKind, last, type Stage, startIclAgain } from './stage.ts'
import type { NodePart, Part } from './world.ts'

const soonMs = 1_500
/** How many writes or fsyncs go through before one is the last. */
const mostBefore = 12
const clockMs = 300_000
const bothStores = ['sqlite', 'mongodb'] as const

/** The ICL ends at a place of a save. */
const killAt = (ending: Ending): FaultKind => ({
  name: `icl-${ending}`,
  stores: ['sqlite'],
  needsPreload: true,
  put: async (stage) => {
    const { icl } = stage.world
    const count = stage.dice.between(1, mostBefore)
    controlOf(icl).endAt(ending, count, stage.dice.between(1, 2 ** 30))
    const note = await endItself(icl)
    await startIclAgain(stage)
    return `at place ${count}${note}`
  },
})

const iclKill: FaultKind = {
  name: 'icl-kill',
  stores: bothStores,
  put: async (stage) => {
    const ms = stage.dice.between(0, soonMs)
    await systemClock.sleep(ms)
    await stage.world.icl.end()
    await startIclAgain(stage)
    return `after ${ms} ms`
  },
}

const iclDiskFull: FaultKind = {
  name: 'icl-disk-full',
  stores: ['sqlite'],
  needsPreload: true,
  put: async (stage) => {
    const control = controlOf(stage.world.icl)
    control.refuse('ENOSPC', undefined)
    const how = await last(stage, 3, 15)
    control.clear()
    return how
  },
}

/** After it the ICL has to be restarted, as docs/operations.md says. */
const iclDiskError: FaultKind = {
  name: 'icl-disk-error',
  stores: ['sqlite'],
  needsPreload: true,
  put: async (stage) => {
    const { icl } = stage.world
    const control = controlOf(icl)
    const atSync = stage.dice.chance(0.5)
    control.refuse(atSync ? undefined : 'EIO', 'EIO')
    const how = await last(stage, 2, 5)
    control.clear()
    await icl.end('SIGTERM')
    await startIclAgain(stage)
    return `${how}, at ${atSync ? 'fsync' : 'writes and fsync'}`
  },
}

const pickNode = ({ dice, world }: Stage): NodePart => dice.pick(world.nodes)

const clockOf = (name: string, partOf: (stage: Stage) => Part): FaultKind => ({
  name,
  stores: ['sqlite'],
  needsPreload: true,
  put: async (stage) => {
    const part = partOf(stage)
    const ms = stage.dice.chance(0.5) ? clockMs : -clockMs
    controlOf(part).moveClock(ms)
    const how = await last(stage, 30, 30)
    controlOf(part).moveClock(0)
    return `${part.name} ${ms / 60_000} min for ${how}`
  },
})

type Freezable = { readonly name: string; readonly pid: number }

const freezeOf = (name: string, partOf: (stage: Stage) => Freezable): FaultKind => ({
  name,
  stores: ['sqlite'],
  put: async (stage) => {
    const part = partOf(stage)
    process.kill(part.pid, 'SIGSTOP')
    const how = await last(stage, 5, 60)
    process.kill(part.pid, 'SIGCONT')
    return `${part.name} ${how}`
  },
})

const freezable = (part: Part): Freezable => ({ name: part.name, pid: part.process().pid })

const nodeKill: FaultKind = {
  name: 'node-kill',
  stores: ['sqlite'],
  put: async (stage) => {
    const node = pickNode(stage)
    await node.end()
    const how = await last(stage, 0, 20)
    await node.start()
    return `${node.name}, away ${how}`
  },
}

const nodeKillInSync: FaultKind = {
  name: 'node-kill-in-sync',
  stores: ['sqlite'],
  needsPreload: true,
  put: async (stage) => {
    const node = pickNode(stage)
    const ending = stage.dice.pick(['before-sync', 'after-sync'] as const)
    controlOf(node).endAt(ending, stage.dice.between(1, 6), 1)
    const note = await endItself(node)
    await node.start()
    return `${node.name} ${ending}${note}`
  },
}

const nodeDiskFull: FaultKind = {
  name: 'node-disk-full',
  stores: ['sqlite'],
  needsPreload: true,
  put: async (stage) => {
    const node = pickNode(stage)
    // A node's journal is written by a system call of Bun's own: only its fsync can fail here.
    controlOf(node).refuse('ENOSPC', 'ENOSPC')
    const how = await last(stage, 5, 15)
    controlOf(node).clear()
    return `${node.name} ${how}`
  },
}

/** Every kind of fault. */
export const faultKinds: readonly FaultKind[] = [
  iclKill,
  ...(Object.keys(endings) as Ending[]).map(killAt),
  iclDiskFull,
  iclDiskError,
  clockOf('icl-clock', ({ world }) => world.icl),
  clockOf('node-clock', pickNode),
  freezeOf('icl-freeze', ({ world }) => freezable(world.icl)),
  freezeOf('node-freeze', (stage) => freezable(pickNode(stage))),
  freezeOf('chain-freeze', ({ world }) => ({ name: 'chain', pid: world.chain.pid })),
  nodeKill,
  nodeKillInSync,
  ...partKinds,
  nodeDiskFull,
  ...networkKinds,
  ...databaseKinds,
]

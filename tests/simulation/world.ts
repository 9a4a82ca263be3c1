import type { Dependencies } from '../../icl/dependencies.ts'
import type { Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import { createApi } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import { createReplica, joinNode, type Outside, origin, type TestIcl } from '../icl/test-icl.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import {
  type ChainHabits,
  createSimulatedChain,
  type SimulatedChain,
  usualChainHabits,
} from './chain.ts'
import { createDice } from './dice.ts'
import { createNetwork, type SimulatedNetwork } from './network.ts'
import { type Habits, type SimulatedNode, startNode } from './node.ts'
import { createWatchedStore } from './watched-store.ts'

/** An ICL of several replicas with its nodes and clients, all on one virtual clock, made from a seed. */
export type World = ReturnType<typeof createWorld>

/** What a world is made with, if not with a clock and a store of its own. */
type WorldParts = {
  readonly clock?: VirtualClock
  readonly base?: Store
}

// In which what was begun before is saved, and every replica sees again who shares the work.
const thawMs = 2_000
const usualHabits: Habits = { slots: 2, thinkMs: [200, 5_000], dies: 0, answer: 'yes' }

/** Makes a world with nobody in it. */
export function createWorld(
  seed: number,
  habits: ChainHabits = usualChainHabits,
  /** What its replicas have otherwise than usual. */
  changes: Partial<Dependencies> = {},
  { clock = createVirtualClock(), base }: WorldParts = {},
) {
  const dice = createDice(seed)
  const chain = createSimulatedChain(clock, dice, habits)
  const store = createWatchedStore(clock, dice, base)
  const network = createNetwork(clock, dice)
  const nodes: SimulatedNode[] = []
  let count = 0
  let thawedAt = Number.NEGATIVE_INFINITY
  store.isThawing = () => clock.now() - thawedAt < thawMs
  const thawing = (goOn: () => void) => () => {
    thawedAt = clock.now()
    goOn()
  }
  const replicas: TestIcl[] = []
  const outsideOf = (fetch: SimulatedNetwork['fetch']): Outside => ({
    clock,
    chain,
    api: (signer) =>
      createApi({ baseUrl: origin, fetch, clock, random: dice, ...(signer && { signer }) }),
  })
  const icl = outsideOf(network.fetch)
  const take = (id: string, toKeep = false): TestIcl => {
    const replica = network.replicas.get(id)
    if (!replica) throw new Error(`there is no replica ${id}`)
    if (!toKeep) network.replicas.delete(id)
    return replica
  }
  const jobs = async (): Promise<readonly Job[]> => {
    const all: Job[] = []
    for await (const record of store.scan()) if (record.kind === 'job') all.push(record.job)
    return all
  }
  return {
    clock,
    dice,
    chain,
    store,
    network,
    nodes,
    /** The ICL as those outside see it: whichever replica a request meets. */
    icl,
    addReplica: async () => {
      const id = `r${++count}`
      const replica = await createReplica(
        { clock, chain, store },
        {
          replicaId: id,
          random: dice.fork(id),
          clock: skewed(clock, dice.between(-1_000, 1_000)),
          ...changes,
        },
      )
      network.replicas.set(id, replica)
      replicas.push(replica)
      return id
    },
    /** Ends a replica as kill -9 does. */
    killReplica: (id: string) => {
      take(id).kill()
    },
    /** Freezes a replica until the function that this gives is called. */
    freezeReplica: (id: string) => thawing(take(id, true).pause()),
    /** Freezes a replica for a while, with whatever it was about to do. */
    pauseReplica: async (id: string, ms: number) => {
      const goOn = thawing(take(id, true).pause())
      await clock.sleep(ms)
      goOn()
    },
    /** Stops a replica in order. */
    stopReplica: (id: string) => take(id).drain(),
    addNode: async (name: string, changes: Partial<Habits> = {}) => {
      const own = outsideOf(network.from(name, dice))
      const joined = await clock.until(joinNode(own, name))
      const node = startNode({ icl: own, clock, dice }, joined, { ...usualHabits, ...changes })
      nodes.push(node)
      return node
    },
    jobs,
    /** What all replicas logged that there ever were. */
    logged: () => replicas.flatMap(({ logged }) => logged),
    /** Every promise that was broken so far, in words. */
    broken: async (): Promise<readonly string[]> => [
      ...store.broken,
      ...chain.conflicts.map((id) => `two results of job ${id} were sent`),
      ...brokenOnChain(chain),
      ...claimedTwice(nodes),
    ],
    end: async () => {
      for (const node of nodes) node.kill()
      for (const id of [...network.replicas.keys()]) await take(id).drain()
      // What a dead one still waits for would keep its whole world in memory.
      for (const { drain, deps } of replicas) {
        deps.notifier.close()
        void drain()
      }
    },
  }
}

/** A clock that is ahead of another by `ms`, or behind it. */
const skewed = (clock: Clock, ms: number): Clock => ({
  ...clock,
  now: () => clock.now() + ms,
})

function brokenOnChain({ granted, committed }: SimulatedChain): string[] {
  const twice = [...granted].filter(([, times]) => times > 1).map(([key]) => key)
  const ids = committed.map(({ jobId }) => jobId)
  return [
    ...twice.map((key) => `access was granted twice: ${key}`),
    ...(new Set(ids).size === ids.length ? [] : ['a result stands on chain twice']),
  ]
}

function claimedTwice(nodes: readonly SimulatedNode[]): string[] {
  const holders = new Map<string, string>()
  return nodes.flatMap(({ name, claims }) =>
    claims.flatMap((claim) => {
      const other = holders.get(claim) ?? name
      holders.set(claim, other)
      return other === name ? [] : [`${claim} was claimed by ${other} and by ${name}`]
    }),
  )
}

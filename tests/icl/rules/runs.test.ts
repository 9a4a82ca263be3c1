import { describe, expect, it } from 'vitest'
import {
  conflictMs,
  noFormerRuns,
  openRun,
  type RunKey,
  type Runs,
  runRefusal,
  seeFormer,
} from '../../../icl/rules/runs.ts'

const session = { key: 'k', not_after: 1, signature: '0x' as const }
const run = (thumbprint: string): RunKey => ({ thumbprint, session })

/** What the ICL holds of a node, and what two machines with the node's wallet do. */
type World = {
  now: number
  current: RunKey | undefined
  runs: Runs
  /** Of each machine, whose clock differs by so many seconds: the run that is alive, and those that were killed with when. */
  readonly machines: readonly {
    readonly aheadSeconds: number
    alive: string | undefined
    readonly killed: { readonly name: string; readonly at: number }[]
  }[]
  opened: number
  conflicts: number
}

const createWorld = (clocks: readonly number[]): World => ({
  now: 1_000_000,
  current: undefined,
  runs: noFormerRuns,
  machines: clocks.map((aheadSeconds) => ({ aheadSeconds, alive: undefined, killed: [] })),
  opened: 0,
  conflicts: 0,
})

const openingAt = (now: number) => ({ signedAt: now / 1000, challengedAt: now })

const timeOf = ({ now }: World, aheadSeconds: number) => Math.floor(now / 1000) + aheadSeconds

/** kill -9 and a new start; true when the ICL opens a run. */
function restart(world: World, index: number): boolean {
  const machine = world.machines[index]!
  const at = timeOf(world, machine.aheadSeconds)
  if (machine.alive !== undefined) machine.killed.push({ name: machine.alive, at })
  machine.alive = undefined
  const name = `run ${world.opened++}`
  if (world.current) {
    const opening = { signedAt: at, challengedAt: world.now }
    const runs = openRun(world.runs, world.current, run(name), opening, world.now)
    if (typeof runs === 'string') return false
    world.runs = runs
  }
  world.current = run(name)
  machine.alive = name
  return true
}

/** A request, signed at a time; true when it counts. */
function arrive(world: World, name: string, signedAt: number): boolean {
  const { runs, current, now } = world
  if (runRefusal(runs, current!, name, now) === undefined) return true
  world.runs = seeFormer(runs, name, signedAt, now)
  if (world.runs.conflictUntil !== runs.conflictUntil) world.conflicts++
  return false
}

/** A daemon asks for work, and ends when it is refused; true when it goes on. */
function poll(world: World, index: number): boolean {
  const machine = world.machines[index]!
  if (machine.alive === undefined) return false
  if (arrive(world, machine.alive, timeOf(world, machine.aheadSeconds))) return true
  machine.alive = undefined
  return false
}

/** Every request that a killed process may have had under way arrives now. */
function arriveLate(world: World, index: number): void {
  for (const { name, at } of world.machines[index]!.killed) arrive(world, name, at)
}

const acts = {
  start: restart,
  'start elsewhere': (world: World) => restart(world, 1),
  poll,
  'poll elsewhere': (world: World) => poll(world, 1),
  late: arriveLate,
  'late elsewhere': (world: World) => arriveLate(world, 1),
} satisfies Record<string, (world: World, index: number) => unknown>
type Act = keyof typeof acts

/** Every sequence of acts of a length. */
function* sequences(names: readonly Act[], length: number): Generator<readonly Act[]> {
  if (length === 0) {
    yield []
    return
  }
  for (const rest of sequences(names, length - 1)) for (const name of names) yield [name, ...rest]
}

const replay = (order: readonly Act[], clocks: readonly number[], stepMs: number): World => {
  const world = createWorld(clocks)
  for (const name of order) {
    acts[name](world, 0)
    world.now += stepMs
  }
  return world
}

describe('the runs of a node', () => {
  it('of which the newest counts: no other one does, and none comes back', () => {
    let checked = 0
    for (const order of sequences(Object.keys(acts) as Act[], 6)) {
      const { current, runs, now } = replay(order, [0, 0], 1_000)
      if (!current) continue
      for (const { thumbprint } of runs.former) {
        expect(runRefusal(runs, current, thumbprint, now)).toBeDefined()
        const opened = openRun(runs, current, run(thumbprint), openingAt(now), now)
        expect(['run-superseded', 'run-conflict']).toContain(opened)
        checked++
      }
    }
    expect(checked).toBeGreaterThan(10_000)
  })

  it('never conflict on one machine, however often it is killed and whatever arrives late', () => {
    for (const stepMs of [1, 400, 1_000, 25_000]) {
      for (const order of sequences(['start', 'poll', 'late'], 8)) {
        const world = replay(order, [37], stepMs)
        expect(world.conflicts).toBe(0)
        // What is alive counts.
        if (world.machines[0]!.alive !== undefined) expect(poll(world, 0)).toBe(true)
      }
    }
  })

  it('need two that outlived their end within ten minutes', () => {
    const world = createWorld([0, 0])
    const supersede = () => {
      restart(world, 0)
      world.now += 1_000
      restart(world, 1)
      world.now += 1_000
      expect(poll(world, 0)).toBe(false)
    }
    supersede()
    expect(poll(world, 1)).toBe(true)
    world.now += conflictMs
    // Nobody stops the second machine's; the first one is started again, and that is one in ten minutes.
    restart(world, 0)
    world.now += 1_000
    expect(poll(world, 1)).toBe(false)
    expect(world.conflicts).toBe(0)
    restart(world, 1)
    world.now += 1_000
    expect(poll(world, 0)).toBe(false)
    expect(world.conflicts).toBe(1)
    expect(poll(world, 1)).toBe(false)
    expect([restart(world, 0), restart(world, 1)]).toEqual([false, false])
    world.now += conflictMs
    expect([restart(world, 0), poll(world, 0)]).toEqual([true, true])
  })

  for (const [ahead, elsewhere] of [
    [0, 0],
    [60, 0],
    [0, 60],
    [-60, -60],
    [60, -60],
  ] as const) {
    it(`under supervisors on two machines stop both, with clocks ${ahead} and ${elsewhere} s ahead`, () => {
      const world = createWorld([ahead, elsewhere])
      restart(world, 0)
      // Each daemon polls every few seconds; its supervisor starts it again 15 s after its end.
      const deadSince = [world.now, world.now - 15_000]
      for (let step = 0; step < 100 && world.conflicts === 0; step++) {
        world.now += 3_000
        for (const index of [0, 1]) {
          if (poll(world, index) || world.now - deadSince[index]! < 15_000) continue
          restart(world, index)
          deadSince[index] = world.now
        }
      }
      expect(world.conflicts).toBe(1)
      expect([poll(world, 0), poll(world, 1)]).toEqual([false, false])
      expect([restart(world, 0), restart(world, 1)]).toEqual([false, false])
    })
  }

  it('are not superseded by an attestation that answers an older challenge', () => {
    const open = (runs: Runs, name: string, challengedAt: number) =>
      openRun(runs, run('current'), run(name), { signedAt: 1, challengedAt }, 2_000_000)
    const runs = open(noFormerRuns, 'first', 1_000_000)
    if (typeof runs === 'string') throw new TypeError(runs)
    expect(open(runs, 'overtaken', 999_999)).toBe('overtaken')
    expect(open(runs, 'of the same millisecond', 1_000_000)).toMatchObject({ former: [{}, {}] })
    // The clock of the ICL was set back, which is no reason to keep nodes away.
    expect(open(runs, 'by another clock', 300_000)).toMatchObject({ challengedAt: 300_000 })
  })

  it('are forgotten but for the last eight', () => {
    const world = createWorld([0])
    for (let start = 0; start < 20; start++) restart(world, 0)
    expect(world.runs.former.map(({ thumbprint }) => thumbprint)).toEqual(
      [11, 12, 13, 14, 15, 16, 17, 18].map((index) => `run ${index}`),
    )
  })
})

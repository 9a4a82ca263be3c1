import { describe, expect, it } from 'vitest'
import { runClient } from './client.ts'
import { createWorld, type World } from './world.ts'

const seeds = (process.env.SIMULATION_SEEDS ?? '1,2,3').split(',').map(Number)

const jobCount = 30

/** Kills, freezes, stops and adds replicas at random until the work is done; one at least is always there. */
async function upheaval(world: World, signal: AbortSignal): Promise<void> {
  const { clock, dice, network } = world
  while (!signal.aborted) {
    await clock.sleep(dice.between(2_000, 20_000), signal).catch(() => {})
    if (signal.aborted) return
    const ids = [...network.replicas.keys()]
    if (ids.length < 3) await world.addReplica()
    else if (dice.chance(0.3)) await world.pauseReplica(dice.pick(ids), dice.between(5_000, 40_000))
    else if (dice.chance(0.6)) world.killReplica(dice.pick(ids))
    else await world.stopReplica(dice.pick(ids))
  }
}

async function run(seed: number, disturb: (world: World, signal: AbortSignal) => Promise<void>) {
  const world = createWorld(seed)
  const { clock, dice } = world
  for (let count = 0; count < 3; count++) await world.addReplica()
  for (let index = 0; index < 12; index++) {
    await world.addNode(`seed ${seed} node ${index}`, {
      slots: dice.between(1, 3),
      dies: index < 3 ? 0.1 : 0,
      answer: index === 4 ? 'another' : 'yes',
    })
  }
  world.network.loss = 0.03
  const over = new AbortController()
  const changes = disturb(world, over.signal)
  const givenUp = new Set<bigint>()
  const clients = Array.from({ length: jobCount }, async (_, index) => {
    await clock.sleep(dice.between(0, 600_000))
    return runClient(world, `seed ${seed} client ${index % 5}`, undefined, (handle) =>
      givenUp.add(handle),
    )
  })
  await clock.until(Promise.all(clients))
  over.abort()
  await clock.until(changes)
  // What is left in the outboxes is scored and granted.
  await clock.advance(60_000)
  const jobs = await world.jobs()
  const result = {
    jobs,
    wanted: jobs.filter(({ kpHighHandle }) => !givenUp.has(kpHighHandle)),
    broken: await world.broken(),
    chain: world.chain,
  }
  await clock.until(world.end())
  return result
}

it('replicas that nothing happens to break no promise: no node is offered more than it takes', async () => {
  const { broken, jobs } = await run(seeds[0] ?? 1, async () => {})
  expect(broken).toEqual([])
  expect(jobs).toHaveLength(jobCount)
}, 600_000)

describe('replicas that come, go and die', () => {
  for (const seed of seeds) {
    it(`settle every job, each with one result on chain (seed ${seed})`, async () => {
      const { jobs, wanted, broken, chain } = await run(seed, upheaval)
      expect(broken).toEqual([])
      expect(wanted).toHaveLength(jobCount)
      expect(jobs.flatMap(({ outbox }) => outbox)).toEqual([])
      const accepted = jobs.filter(({ phase }) => phase === 'accepted')
      expect(accepted.length).toBeGreaterThan(jobCount * 0.8)
      const committed = chain.committed.map(({ jobId }) => jobId)
      expect(new Set(committed)).toEqual(new Set(accepted.map(({ id }) => id)))
    }, 600_000)
  }
})

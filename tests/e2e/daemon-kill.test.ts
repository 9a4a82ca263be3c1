import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Inference } from '../../lib/client/inference.ts'
import { type DaemonWorld, eventually, startDaemonWorld } from './daemon-world.ts'

let world: DaemonWorld
let jobs = 0
beforeAll(async () => {
  world = await startDaemonWorld()
}, 240_000)
afterAll(() => world?.stop())
afterEach(() => {
  world.proxy.decide = undefined
  world.provider.release()
  world.provider.calls.length = 0
})

const keyOf = (index: number) => `key-of-node-${index}`
const callsOf = (index: number) => world.provider.calls.filter((key) => key === keyOf(index)).length

/** Starts a job and tells who leads it. */
async function begin() {
  jobs += 1
  const inference = world.ask(`What is ${randomUUID()}?`)
  const [leader = 0, verifier = 0, other = 0] = await world.rolesOf(jobs)
  return { inference, leader, verifier, other }
}

/** kill -9, then the same command again. */
async function killAndRestart(index: number) {
  await world.kill(index)
  world.restart(index)
}

/** What has to be so after every job, whatever was killed. */
async function nothingIsLost(inference: Promise<Inference>) {
  expect(await inference).toMatchObject({ status: 'accepted', output: 'the answer' })
  for (const index of [0, 1, 2]) {
    await eventually(`the journal of node ${index} is done`, async () => {
      const steps = (await world.journalOf(index)).trimEnd().split('\n').filter(Boolean)
      const ends = steps.filter((line) => line.includes('"step":"ended"')).length
      const starts = steps.filter((line) => line.includes('"step":"started"')).length
      return starts === ends
    })
    expect((await world.historyOf(index)).at(-1)?.outcome).not.toBe('running')
  }
}

describe('kill -9', () => {
  it('of the leader during inference: it goes on, asks once more, and the job is accepted', async () => {
    for (const index of [0, 1, 2]) world.provider.held.add(keyOf(index))
    const { inference, leader, verifier, other } = await begin()
    await eventually('all ask', () => world.provider.calls.length === 3)
    await killAndRestart(leader)
    for (const index of [verifier, other]) world.provider.release(keyOf(index))
    await eventually('it asks again', () => callsOf(leader) === 2)
    world.provider.release()
    await nothingIsLost(inference)
    expect([callsOf(leader), callsOf(verifier), callsOf(other)]).toEqual([2, 1, 1])
    await world.logged(leader, 'resuming as leader after a restart')
    expect((await world.historyOf(leader)).at(-1)).toMatchObject({ outcome: 'result-posted' })
  }, 240_000)

  it('of a verifier that has committed: it judges by the evidence it kept, and asks nobody', async () => {
    for (const index of [0, 1, 2]) world.provider.held.add(keyOf(index))
    const { inference, leader, verifier, other } = await begin()
    await eventually('all ask', () => world.provider.calls.length === 3)
    for (const index of [verifier, other]) world.provider.release(keyOf(index))
    await eventually('it has committed', async () => {
      // Jobs before this one are in the log too, and any other line may come after.
      const log = await world.logOf(verifier)
      return log
        .slice(log.lastIndexOf(': starting as verifier'))
        .includes("committed, waiting for the leader's result")
    })
    await killAndRestart(verifier)
    await world.logged(verifier, 'resuming as verifier after a restart')
    world.provider.release()
    await nothingIsLost(inference)
    expect([callsOf(leader), callsOf(verifier), callsOf(other)]).toEqual([1, 1, 1])
    expect((await world.historyOf(verifier)).at(-1)).toMatchObject({ outcome: 'match' })
  }, 240_000)

  for (const arrives of [false, true]) {
    const when = arrives ? 'right after it' : 'right before its result arrives'
    it(`of the leader ${when}: the same bytes count once`, async () => {
      const posted: string[] = []
      const killed = Promise.withResolvers<void>()
      world.proxy.decide = ({ path, body, node }) => {
        if (path !== '/internal/task/result') return 'pass'
        posted.push(body)
        // In this very moment: it must not find out and send once more.
        const kill = () => {
          const sender = world.nodes.findIndex(({ address }) => address === node)
          world.kill(sender).then(killed.resolve, killed.reject)
        }
        if (arrives) return { loseAnswer: kill }
        kill()
        return 'lose-request'
      }
      const { inference, leader } = await begin()
      await killed.promise
      expect(posted.length).toBe(1)
      world.proxy.decide = ({ path, body }) => {
        if (path === '/internal/task/result') posted.push(body)
        return 'pass'
      }
      world.restart(leader)
      await nothingIsLost(inference)
      expect(new Set(posted).size).toBe(1)
      expect(posted.length).toBe(arrives ? 1 : 2)
      expect(callsOf(leader)).toBe(1)
      expect((await world.historyOf(leader)).at(-1)).toMatchObject({ outcome: 'result-posted' })
    }, 240_000)
  }
})

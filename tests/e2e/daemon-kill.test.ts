import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { lastLogLines, type Running } from '../../demo/processes.ts'
import type { Inference } from '../../lib/client/inference.ts'
import { eventually } from '../eventually.ts'
import { type DaemonWorld, startDaemonWorld } from './daemon-world.ts'

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

/** Starts a job and tells who has its first seat. */
async function begin() {
  jobs += 1
  const inference = world.ask(`What is ${randomUUID()}?`)
  const [first = 0, second = 0, third = 0] = await world.rolesOf(jobs)
  return { inference, first, second, third }
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
  it('during inference: it goes on, asks once more, and the job is accepted', async () => {
    for (const index of [0, 1, 2]) world.provider.held.add(keyOf(index))
    const { inference, first, second, third } = await begin()
    await eventually('all ask', () => world.provider.calls.length === 3)
    await killAndRestart(first)
    for (const index of [second, third]) world.provider.release(keyOf(index))
    await eventually('it asks again', () => callsOf(first) === 2)
    world.provider.release()
    await nothingIsLost(inference)
    expect([callsOf(first), callsOf(second), callsOf(third)]).toEqual([2, 1, 1])
    await world.logged(first, 'resuming as leader after a restart')
    expect(['result-posted', 'match']).toContain((await world.historyOf(first)).at(-1)?.outcome)
  })

  it('of one that has committed: it answers by the evidence it kept, checks, and asks nobody', async () => {
    for (const index of [0, 1, 2]) world.provider.held.add(keyOf(index))
    const { inference, first, second, third } = await begin()
    await eventually('all ask', () => world.provider.calls.length === 3)
    for (const index of [second, third]) world.provider.release(keyOf(index))
    await eventually('it has committed', async () => {
      // Jobs before this one are in the log too, and any other line may come after.
      const log = await world.logOf(second)
      return log
        .slice(log.lastIndexOf(': starting as verifier'))
        .includes('committed, waiting for the other nodes')
    })
    await killAndRestart(second)
    await world.logged(second, 'resuming as verifier after a restart')
    world.provider.release()
    await nothingIsLost(inference)
    expect([callsOf(first), callsOf(second), callsOf(third)]).toEqual([1, 1, 1])
    // Its text was only in memory: if its turn comes first, it hands it on.
    expect((await world.historyOf(second)).at(-1)).toMatchObject({ outcome: 'match' })
  })

  it('of the deliverer when its turn begins: another delivers, and it checks', async () => {
    const killed = Promise.withResolvers<number>()
    let victim: string | undefined
    world.proxy.decide = ({ path, node }) => {
      if (!path.startsWith('/internal/task/')) return 'pass'
      return {
        change: (own) => {
          const { step } = (own.next ?? own) as { readonly step?: string }
          if (step !== 'deliver' || victim !== undefined) return own
          victim = node
          const index = world.nodes.findIndex(({ address }) => address === node)
          world.kill(index).then(() => killed.resolve(index), killed.reject)
          return own
        },
      }
    }
    const { inference } = await begin()
    const index = await killed.promise
    world.restart(index)
    await nothingIsLost(inference)
    const result = await inference
    expect(result.deliverer).not.toBe(victim)
    expect(result.verdicts).toContainEqual({ node: victim, verdict: 'match' })
    await world.logged(index, 'the text of the answer was lost')
    expect((await world.historyOf(index)).at(-1)).toMatchObject({ outcome: 'match' })
  })

  for (const arrives of [false, true]) {
    const when = arrives ? 'right after it' : 'right before its result arrives'
    it(`of the deliverer ${when}: the same bytes count once`, async () => {
      const posted: string[] = []
      const killed = Promise.withResolvers<number>()
      world.proxy.decide = ({ path, body, node }) => {
        if (path !== '/internal/task/result') return 'pass'
        posted.push(body)
        // In this very moment: it must not find out and send once more.
        const kill = () => {
          const sender = world.nodes.findIndex(({ address }) => address === node)
          world.kill(sender).then(() => killed.resolve(sender), killed.reject)
        }
        if (arrives) return { loseAnswer: kill }
        kill()
        return 'lose-request'
      }
      const { inference } = await begin()
      const deliverer = await killed.promise
      expect(posted.length).toBe(1)
      world.proxy.decide = ({ path, body }) => {
        if (path === '/internal/task/result') posted.push(body)
        return 'pass'
      }
      world.restart(deliverer)
      await nothingIsLost(inference)
      expect(new Set(posted).size).toBe(1)
      // Of what had arrived it asks again for the acknowledgement.
      expect(posted.length).toBe(2)
      expect(callsOf(deliverer)).toBe(1)
      const [last] = (await world.historyOf(deliverer)).slice(-1)
      expect(last).toMatchObject({ outcome: 'result-posted' })
    })
  }
})

describe('a daemon', () => {
  it('that is killed five times in a row, as soon as it runs, is no second one: it works on', async () => {
    const startsOf = async () => (await world.logOf(0)).split('Daemon starting').length
    for (let kill = 0; kill < 5; kill++) {
      const starts = await startsOf()
      await killAndRestart(0)
      await eventually('it runs again', async () => (await startsOf()) > starts)
    }
    const { inference } = await begin()
    await nothingIsLost(inference)
    expect(await world.logOf(0)).not.toMatch(/run-superseded|run-conflict/)
  })

  it('and one of a copy of its folder, both started again whenever they end: both end with 1, and nobody is accused', async () => {
    const copy = await world.copy(0)
    const logs = { original: world.nodes[0]!.process.logFile, copy: '' }
    /** Starts it again until the ICL takes none of them any more; the exit codes. */
    const supervise = async (first: Running, start: () => Running) => {
      const ends: (number | string)[] = []
      for (let running = first; ; running = start()) {
        ends.push(await running.exited)
        if ((await lastLogLines(running.logFile)).includes('run-conflict')) return ends
      }
    }
    const original = supervise(world.nodes[0]!.process, () => {
      world.restart(0)
      return world.nodes[0]!.process
    })
    const second = copy.start()
    logs.copy = second.logFile
    // Else each finds out only when the ICL has held its poll for 5 s.
    const cuts = setInterval(world.proxy.cut, 3_000)
    // Work that both are offered.
    const asked = world.ask(`What is ${randomUUID()}?`).catch(() => undefined)
    for (const ends of await Promise.all([original, supervise(second, copy.start)])) {
      expect(new Set(ends)).toEqual(new Set([1]))
    }
    clearInterval(cuts)
    for (const file of Object.values(logs)) {
      expect(await lastLogLines(file)).toContain('Stop all but one, and start that one again.')
    }
    await asked
    const faults = await fetch(`${world.proxy.url}/v1/nodes/${world.nodes[0]!.address}/faults`)
    expect(await faults.json()).toMatchObject({ faults: [] })
  })
})

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { createApp } from '../../icl/app.ts'
import { listen } from '../../icl/start/listen.ts'
import { createApi } from '../../lib/api.ts'
import { systemClock } from '../../lib/system.ts'
import { runClient } from '../simulation/client.ts'
import { createDice, type Dice } from '../simulation/dice.ts'
import { type SimulatedNode, startNode } from '../simulation/node.ts'
import type { VirtualClock } from '../virtual-clock.ts'
import { createReplica, createShared, joinNode, type Outside, origin } from './test-icl.ts'

const clock: VirtualClock = {
  ...systemClock,
  advance: (ms) => systemClock.sleep(ms),
  jump: (ms) => systemClock.sleep(ms),
  leap: () => {},
  until: (work) => work,
}
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

/** A way to a server that breaks at a random byte, in one direction or the other. */
async function startCutter(port: number, dice: Dice) {
  const counts = { connections: 0, cuts: 0 }
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1')
    const cutsAnswers = dice.chance(0.6)
    counts.connections += 1
    const end = () => {
      near.destroy()
      far.destroy()
    }
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      const isCut = (from === far) === cutsAnswers
      let left = isCut ? dice.between(0, 5_000) : Number.POSITIVE_INFINITY
      from.on('data', (bytes: Buffer) => {
        to.write(bytes.subarray(0, left))
        left -= bytes.length
        if (left > 0) return
        counts.cuts += 1
        // What was written before the cut arrives; nothing after it does.
        to.end()
        setTimeout(end, 5)
        from.pause()
      })
      from.on('error', end)
      from.on('close', end)
    }
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  ends.push(() => server.close())
  return { port: (server.address() as AddressInfo).port, counts }
}

it('connections that are cut at any byte lose nothing: every job is done, and every assignment claimed by one node', async () => {
  const seed = 7
  const dice = createDice(seed)
  const shared = { ...createShared(), clock }
  const replica = await createReplica(shared)
  ends.push(() => replica.stop())
  const server = listen(createApp(replica.deps), { hostname: '127.0.0.1', port: 0 })
  ends.push(() => server.stop(true))
  const cutter = await startCutter(server.port!, dice)
  const fetchThere = async (request: Request) => {
    const { pathname, search } = new URL(request.url)
    const body = request.body ? await request.arrayBuffer() : undefined
    return fetch(`http://127.0.0.1:${cutter.port}${pathname}${search}`, {
      method: request.method,
      headers: request.headers,
      signal: request.signal,
      ...(body && { body }),
    })
  }
  const icl: Outside = {
    clock,
    chain: shared.chain,
    api: (signer) =>
      createApi({
        baseUrl: origin,
        fetch: fetchThere,
        clock,
        random: dice,
        ...(signer && { signer }),
      }),
  }
  const nodes: SimulatedNode[] = []
  for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) {
    const joined = await joinNode(replica, name)
    const node = { ...joined, api: icl.api(joined.signer) }
    const habits = { slots: 2, thinkMs: [1, 20], dies: 0, answer: 'yes' } as const
    nodes.push(startNode({ icl, clock, dice }, node, habits))
  }
  ends.push(() => {
    for (const node of nodes) node.kill()
  })
  const views = await Promise.all(
    ['c1', 'c2', 'c3', 'c4', 'c1', 'c2', 'c3', 'c4'].map((name) => runClient({ icl, clock }, name)),
  )
  expect(views.map(({ status }) => status)).toEqual(Array(8).fill('accepted'))
  const claims = nodes.flatMap((node) => node.claims)
  expect(new Set(claims).size).toBe(claims.length)
  expect(cutter.counts.cuts).toBeGreaterThan(20)
  expect(new Set(shared.chain.committed.map(({ jobId }) => jobId)).size).toBe(8)
})

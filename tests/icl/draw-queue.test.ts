import { describe, expect, it, vi } from 'vitest'
import { createNotifier, roomKey } from '../../icl/async/notifier.ts'
import { createDrawQueue, type Draw } from '../../icl/operations/draw-queue.ts'
import type { Room } from '../../icl/operations/draw-room.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { createVirtualClock } from '../virtual-clock.ts'

const addressOf = (name: string) => `0x${name.padStart(40, '0')}` as Address
const nodes = ['a1', 'a2', 'a3'].map(addressOf)

/** A queue over three nodes, where each job that was let go ahead occupies all of them until it ends. */
function world({ room = 1, places = 8 } = {}) {
  const clock = createVirtualClock()
  const notifier = createNotifier(clock)
  const jobs = new Map<string, Address>()
  const end = (name: string) => {
    jobs.delete(name)
    notifier.notify(roomKey)
  }
  const outside: Room = {
    ofClient: async (client) =>
      places - [...jobs.values()].filter((other) => other === client).length,
    ofNode: async () => room - jobs.size,
    seatedIn: async () => [],
  }
  const waits: number[] = []
  const queue = createDrawQueue({ clock, notifier }, outside, (ms) => waits.push(ms))
  let count = 0
  const drawOf = (client: string): Draw => ({
    name: `${client}:${count++}`,
    client: addressOf(client),
    quorum: 3,
    nodes,
  })
  /** Notes the draw as a job once it has had its turn. */
  const ask = async (draw: Draw, ms = 0) => {
    const queued = await queue.waitFor(draw, ms)
    if (queued) return queued
    queue.submitted(draw.name, `0x${draw.name}` as JobId)
    jobs.set(draw.name, draw.client)
    return undefined
  }
  return { clock, notifier, queue, drawOf, ask, jobs, end, waits }
}

describe('a draw', () => {
  it('goes ahead at once while its nodes have room', async () => {
    const { clock, ask, drawOf, queue } = world({ room: 2 })
    expect(await ask(drawOf('1'))).toBeUndefined()
    await clock.advance(100)
    expect(await ask(drawOf('2'))).toBeUndefined()
    await clock.advance(100)
    expect(await ask(drawOf('3'))).toEqual({ place: 1, waiting: 1, retryAfterSeconds: 1 })
    expect(queue.size).toBe(1)
  })

  it('that is held goes ahead as soon as there is room, and is told how long it waited', async () => {
    const { clock, ask, drawOf, end, waits } = world()
    const first = drawOf('1')
    await ask(first)
    const second = ask(drawOf('2'), 20_000)
    await clock.advance(3_000)
    end(first.name)
    await clock.advance(400)
    expect(await second).toBeUndefined()
    expect(waits).toHaveLength(2)
    expect(waits[1]).toBeGreaterThanOrEqual(3_000)
  })

  it('hears of room that was left just after a look at another draw', async () => {
    const { clock, notifier, ask, drawOf, end } = world()
    const first = drawOf('1')
    await ask(first)
    const second = ask(drawOf('2'), 20_000)
    await clock.advance(500)
    // Leaves no room, and has the queue look and rest.
    notifier.notify(roomKey)
    await clock.advance(50)
    void ask(drawOf('3'), 20_000)
    await clock.advance(20)
    end(first.name)
    await clock.advance(400)
    expect(await Promise.race([second, Promise.resolve('waits')])).toBeUndefined()
  })

  it('costs nothing but a look every 2 s while it is held and nothing changes, however many there are', async () => {
    const { clock, notifier, ask, drawOf } = world()
    await ask(drawOf('1'))
    const wait = vi.spyOn(notifier, 'wait')
    const sleep = vi.spyOn(clock, 'sleep')
    const all = Array.from({ length: 50 }, (_, at) => ask(drawOf(`${at + 2}`), 60_000))
    await clock.advance(60_000)
    for (const queued of await Promise.all(all)) expect(queued).toMatchObject({ waiting: 50 })
    // Each waits once for its turn, and all of them every 2 s for room.
    expect(wait.mock.calls.length).toBeLessThan(50 + 32)
    expect(sleep.mock.calls.length).toBeLessThan(2 * (50 + 32))
  })

  it('waits for one draw of each other client, however many these have, in the order of their last turns', async () => {
    const { clock, ask, drawOf, jobs, end, queue } = world()
    const running = drawOf('9')
    await ask(running)
    const flood = ['1', '2', '3'].flatMap((client) =>
      Array.from({ length: 50 }, () => drawOf(client)),
    )
    for (const draw of flood) await ask(draw)
    const late = drawOf('7')
    expect(await ask(late)).toMatchObject({ place: 4, waiting: 151 })
    const order: string[] = []
    let last = running
    for (let turn = 0; turn < 7; turn++) {
      end(last.name)
      await clock.advance(300)
      for (const draw of [...flood, late]) {
        if (jobs.has(draw.name) || order.includes(draw.name) || (await ask(draw))) continue
        order.push(draw.name)
        last = draw
      }
    }
    expect(order.map((name) => name.split(':')[0])).toEqual('1 2 3 7 1 2 3'.split(' '))
    expect(queue.waitingOf(addressOf('1'))).toBe(48)
  })

  it('keeps its place while it is asked for within 90 s, and its turn for 60 s', async () => {
    const { clock, ask, drawOf, end, queue } = world()
    const [first, second, third] = [drawOf('1'), drawOf('2'), drawOf('3')]
    await ask(first)
    await ask(second)
    expect(await ask(third)).toMatchObject({ place: 2 })
    await clock.advance(80_000)
    await ask(second)
    await clock.advance(80_000)
    // The third was not asked for again, and comes as a new one.
    expect(await ask(drawOf('4'))).toMatchObject({ place: 2, waiting: 2 })
    expect(queue.waitedMs(third.name)).toBe(0)
    expect(queue.waitedMs(second.name)).toBe(160_000)
    end(first.name)
    await clock.advance(200)
    // Another client's question gives the second its turn.
    expect(await ask(third)).toMatchObject({ place: 2, waiting: 2 })
    await clock.advance(50_000)
    expect(await ask(second)).toBeUndefined()
  })

  it('that has its turn has waited until then, and is told of it only while its caller is there', async () => {
    const { clock, ask, drawOf, end, queue } = world()
    const [first, second] = [drawOf('1'), drawOf('2')]
    await ask(first)
    const gone = new AbortController()
    const held = queue.waitFor(second, 60_000, gone.signal)
    await clock.advance(30_000)
    end(first.name)
    gone.abort(new Error('gone'))
    // The last look gives it its turn, which is kept for 60 s: its caller has not heard of it.
    await held
    await clock.advance(50_000)
    await ask(drawOf('4'))
    expect([queue.has(second.name), queue.waitedMs(second.name)]).toEqual([true, 30_000])
    expect(await ask(second)).toBeUndefined()
  })

  it('loses neither place nor turn for a chain that fails, and holds up others for 3 minutes at most', async () => {
    const { clock, ask, drawOf, end, queue } = world()
    const [first, second, third] = [drawOf('1'), drawOf('2'), drawOf('3')]
    await ask(first)
    await ask(second)
    const failThrice = async (pauseMs: number) => {
      for (let time = 0; time < 3; time++) {
        await clock.advance(pauseMs)
        queue.keep(second.name, addressOf('9'))
        queue.keep(second.name, second.client)
        expect(await ask(third)).toMatchObject({ waiting: expect.any(Number) })
      }
    }
    await failThrice(80_000)
    expect(await ask(third)).toMatchObject({ place: 2, waiting: 2 })
    end(first.name)
    await clock.advance(200)
    // It is told, and the list that it is for cannot be made.
    expect(await queue.waitFor(second, 0)).toBeUndefined()
    await failThrice(39_000)
    await clock.advance(39_000)
    queue.keep(second.name, second.client)
    await clock.advance(22_000)
    expect(await ask(third)).toBeUndefined()
  })

  it('counts the seats of a job before it that are not offered yet, for 20 s', async () => {
    const clock = createVirtualClock()
    const job = `0x${'1'.repeat(64)}` as JobId
    // The store counts no seat that waits for its grant.
    const room = { ofClient: async () => 8, ofNode: async () => 1, seatedIn: async () => nodes }
    const queue = createDrawQueue({ clock, notifier: createNotifier(clock) }, room)
    const drawOf = (name: string) => ({ name, client: addressOf(name), quorum: 3, nodes })
    expect(await queue.waitFor(drawOf('1'), 0)).toBeUndefined()
    queue.submitted('1', job)
    const next = () => queue.waitFor(drawOf('2'), 0)
    for (const pauseMs of [1_000, 18_000]) {
      await clock.advance(pauseMs)
      expect(await next()).toMatchObject({ place: 1 })
    }
    // A client that never commits to its list holds up others no longer.
    await clock.advance(1_100)
    expect(await next()).toBeUndefined()
  })

  it('that needs a node without any room keeps none of the room of others, however many such draws there are', async () => {
    const clock = createVirtualClock()
    const none = addressOf('b0')
    const room = {
      ofClient: async () => 8,
      ofNode: async (node: Address) => (node === none ? 0 : 1),
      seatedIn: async () => [],
    }
    const queue = createDrawQueue({ clock, notifier: createNotifier(clock) }, room)
    const drawOf = (name: string, over: readonly Address[]) =>
      ({ name, client: addressOf(name), quorum: 3, nodes: over }) satisfies Draw
    for (let at = 0; at < 70; at++) {
      const stuck = drawOf(`${100 + at}`, [none, ...nodes.slice(0, 2)])
      expect(await queue.waitFor(stuck, 0)).toMatchObject({ place: at + 1 })
    }
    expect(await queue.waitFor(drawOf('7', nodes), 0)).toBeUndefined()
  })

  it('that is asked for again waits for the nodes that its list has by then', async () => {
    const clock = createVirtualClock()
    const [none, ...others] = [addressOf('b0'), ...nodes]
    const room = {
      ofClient: async () => 8,
      ofNode: async (node: Address) => (node === none ? 0 : 1),
      seatedIn: async () => [],
    }
    const queue = createDrawQueue({ clock, notifier: createNotifier(clock) }, room)
    const draw = { name: '1', client: addressOf('1'), quorum: 3 }
    const first = { ...draw, nodes: [none, ...others.slice(0, 2)] }
    expect(await queue.waitFor(first, 0)).toMatchObject({ place: 1 })
    await clock.advance(1_000)
    expect(await queue.waitFor({ ...draw, nodes: [none, ...others] }, 0)).toBeUndefined()
  })

  it('of a client that has its jobs waits, and those of others do not', async () => {
    const { clock, ask, drawOf } = world({ room: 9, places: 1 })
    expect(await ask(drawOf('1'))).toBeUndefined()
    await clock.advance(200)
    expect(await ask(drawOf('1'))).toMatchObject({ place: 1 })
    expect(await ask(drawOf('2'))).toBeUndefined()
  })

  it('is told to come back when the turns before it can be expected to be over', async () => {
    const { clock, ask, drawOf, end } = world()
    let running = drawOf('1')
    await ask(running)
    for (let turn = 0; turn < 15; turn++) {
      await clock.advance(2_000)
      end(running.name)
      running = drawOf('1')
      expect(await ask(running)).toBeUndefined()
    }
    await clock.advance(2_000)
    await ask(drawOf('2'))
    const third = await ask(drawOf('3'))
    expect(third).toMatchObject({ place: 2, retryAfterSeconds: 4 })
  })
})

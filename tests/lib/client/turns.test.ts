import { describe, expect, it } from 'vitest'
import { createTurns, type QueuePlace } from '../../../lib/client/turns.ts'

/** Asks for turns, and tells who had one and who stands where. */
function world(atOnce: number) {
  const turns = createTurns(atOnce)
  const had: string[] = []
  const places = new Map<string, QueuePlace>()
  const ask = async (name: string, signal?: AbortSignal) => {
    const turn = await turns.take((place) => places.set(name, place), signal)
    had.push(name)
    return turn
  }
  return { ask, had, places }
}

describe('turns of a client', () => {
  it('are had in the order in which they were asked for, so many at once', async () => {
    const { ask, had, places } = world(2)
    const asked = ['a', 'b', 'c', 'd', 'e'].map((name) => ask(name))
    await Promise.all(asked.slice(0, 2))
    expect(had).toEqual(['a', 'b'])
    expect(places.get('e')).toEqual({ at: 'client', place: 3, waiting: 3 })
    const second = await asked[1]!
    second.end()
    second.end()
    await asked[2]
    expect(had).toEqual(['a', 'b', 'c'])
    expect(places.get('e')).toEqual({ at: 'client', place: 2, waiting: 2 })
  })

  it('are left to others by who gives up', async () => {
    const { ask, had, places } = world(1)
    const first = await ask('a')
    const stop = new AbortController()
    const left = ask('b', stop.signal)
    const third = ask('c')
    stop.abort(new Error('no longer'))
    await expect(left).rejects.toThrow('no longer')
    expect(places.get('c')).toEqual({ at: 'client', place: 1, waiting: 1 })
    first.end()
    await third
    expect(had).toEqual(['a', 'c'])
  })
})

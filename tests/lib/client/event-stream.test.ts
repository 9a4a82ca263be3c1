import { describe, expect, it } from 'vitest'
import { readServerEvents, type ServerEvent } from '../../../lib/client/event-stream.ts'
import { fastClock } from './fake-world.ts'

const read = async (...parts: string[]): Promise<ServerEvent[]> => {
  const body = new ReadableStream({
    start: (controller) => {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part))
      controller.close()
    },
  })
  const events: ServerEvent[] = []
  const options = { clock: fastClock(), idleMs: 10_000 }
  for await (const event of readServerEvents(new Response(body), options)) events.push(event)
  return events
}

describe('readServerEvents', () => {
  it('reads ids and data of several lines', async () => {
    expect(await read('id: 7\ndata: a\ndata: b\n\ndata:c\n\n')).toEqual([
      { id: '7', data: 'a\nb' },
      { id: undefined, data: 'c' },
    ])
  })

  it('passes over pings and what is cut off at the end', async () => {
    expect(await read(': ping\n\n', 'event: x\n\n', 'data: a\n\ndata: lost')).toEqual([
      { id: undefined, data: 'a' },
    ])
  })

  it('does not care where the stream is cut or how lines end', async () => {
    const text = 'id: 1\r\ndata: über\r\n\r\nid: 2\r\ndata: b\r\n\r\n'
    const expected = [
      { id: '1', data: 'über' },
      { id: '2', data: 'b' },
    ]
    for (let cut = 1; cut < text.length; cut++) {
      expect(await read(text.slice(0, cut), text.slice(cut))).toEqual(expected)
    }
  })

  it('ends with an error when nothing comes', async () => {
    const silent = new Response(new ReadableStream())
    const work = async () => {
      for await (const _ of readServerEvents(silent, { clock: fastClock(), idleMs: 500 })) break
    }
    await expect(work()).rejects.toMatchObject({ code: 'stream-silent' })
  })

  it('ends when it is aborted', async () => {
    const abort = new AbortController()
    const silent = new Response(new ReadableStream())
    const options = { clock: fastClock(), idleMs: 60_000, signal: abort.signal }
    const work = (async () => {
      for await (const _ of readServerEvents(silent, options)) break
    })()
    abort.abort(new Error('enough'))
    await expect(work).rejects.toThrow('enough')
  })
})

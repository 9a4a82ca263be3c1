import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { readServerEvents, type ServerEvent } from '../../../lib/client/event-stream.ts'
import { systemClock } from '../../../lib/system.ts'
import { expectTyped, forAll, itHolds } from './runs.ts'

const options = { clock: systemClock, idleMs: 600_000 }

/** A response that comes in pieces of these lengths. */
function inPieces(bytes: Uint8Array, lengths: readonly number[]): Response {
  let at = 0
  let piece = 0
  return new Response(
    new ReadableStream({
      pull: (controller) => {
        if (at >= bytes.length) return controller.close()
        const length = lengths.length > 0 ? lengths[piece++ % lengths.length]! : bytes.length
        controller.enqueue(bytes.slice(at, at + length))
        at += length
      },
    }),
  )
}

async function eventsOf(response: Response): Promise<ServerEvent[]> {
  const events: ServerEvent[] = []
  for await (const event of readServerEvents(response, options)) events.push(event)
  return events
}

const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 6 })
const lineEnd = fc.constantFrom('\n', '\r\n', '\r')

describe('event streams', () => {
  itHolds('give every event that was written, however it is cut', async () => {
    const event = fc.record({ id: fc.nat(), data: fc.jsonValue({ noUnicodeString: false }) })
    await forAll(
      200,
      fc.array(event, { maxLength: 5 }),
      pieces,
      lineEnd,
      async (events, lengths, end) => {
        const text = events
          .map(({ id, data }) =>
            [`id: ${id}`, 'event: job', `data: ${JSON.stringify(data)}`, '', ''].join(end),
          )
          .join('')
        // A last line end by itself may be half of one.
        const read = await eventsOf(
          inPieces(new TextEncoder().encode(`${text}: the end${end}`), lengths),
        )
        expect(read).toEqual(
          events.map(({ id, data }) => ({ id: String(id), data: JSON.stringify(data) })),
        )
      },
    )
  })

  itHolds('keep letters that other formats take for line ends', async () => {
    const data = JSON.stringify({ detail: 'a\u2028b\u2029c\u0085d' })
    const [event] = await eventsOf(inPieces(new TextEncoder().encode(`data: ${data}\n\n`), []))
    expect(event?.data).toBe(data)
  })

  itHolds('of any bytes end in order', () =>
    forAll(200, fc.uint8Array({ maxLength: 400 }), pieces, async (bytes, lengths) => {
      await eventsOf(inPieces(bytes, lengths)).catch(expectTyped)
    }),
  )

  itHolds('without an end to an event are given up', async () => {
    let sent = 0
    const chunk = new Uint8Array(16_384).fill(97)
    const endless = new Response(
      new ReadableStream({
        pull: (controller) => {
          sent += chunk.length
          controller.enqueue(chunk)
        },
      }),
    )
    await expect(eventsOf(endless)).rejects.toMatchObject({ code: 'event-too-long' })
    expect(sent).toBeLessThan(1_000_000)
  })
})

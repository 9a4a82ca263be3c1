import type { Clock } from '../../lib/clock.ts'
import type { Store } from '../store/store.ts'
import { isPassing } from '../telemetry/failures.ts'
import type { Log } from '../telemetry/log.ts'

const apartMs = 50

/**
 * A stream of server-sent events, given as text, each once all that it reports is durable. `enter` is called at once, and may refuse; its answer
 * is called when the stream has ended, was cancelled, or `signal` aborts. A failure ends the stream as if there were nothing more to say, with
 * one line in the log: the caller connects again and continues after the last event that it has. It begins with a short comment of its own,
 * because a proxy that compresses (Caddy 2.6) holds a stream whose first write has 512 bytes or more.
 */
export function eventStreamAnswer(
  {
    clock,
    log,
    store,
  }: {
    readonly clock: Pick<Clock, 'sleep'>
    readonly log: Pick<Log, 'warn' | 'error'>
    readonly store: Pick<Store, 'commits'>
  },
  signal: AbortSignal,
  enter: () => () => void,
  chunksUntil: (gone: AbortSignal) => AsyncGenerator<string>,
): Response {
  const encoder = new TextEncoder()
  const leave = enter()
  const left = new AbortController()
  const end = () => left.abort()
  left.signal.addEventListener('abort', leave, { once: true })
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  const barrier = store.commits.barrier()
  const chunks = chunksUntil(left.signal)
  let hasBegun = false
  // Read only as fast as the caller does: an answer that nobody reads costs nothing.
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        if (!hasBegun) {
          hasBegun = true
          controller.enqueue(encoder.encode(': begins\n\n'))
          // Else the proxy reads it together with what follows.
          await clock.sleep(apartMs, left.signal).catch(() => {})
          return
        }
        const lastingChunk = async () => {
          const chunk = await chunks.next()
          await barrier()
          return chunk
        }
        const { value, done } = await lastingChunk().catch((error: unknown) => {
          const [note, what] = ['event stream ended', { error: String(error) }]
          if (isPassing(error)) log.warn(note, what)
          else log.error(note, what)
          return { value: undefined, done: true }
        })
        if (done) {
          end()
          controller.close()
        } else controller.enqueue(encoder.encode(value))
      },
      cancel: async () => {
        end()
        await chunks.return(undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, {
    headers: {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  })
}

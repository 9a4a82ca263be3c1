import type { Store } from '../store/store.ts'
import { isPassing } from '../telemetry/failures.ts'
import type { Log } from '../telemetry/log.ts'

/**
 * A stream of server-sent events, given as text, each once all that it tells of lasts; `signal` and `enter`'s answer end with it. What fails ends the stream as if there
 * were nothing more to say, with one line in the log: the caller connects again and goes on after the last event that it has.
 */
export function eventStreamAnswer(
  {
    log,
    store,
  }: { readonly log: Pick<Log, 'warn' | 'error'>; readonly store: Pick<Store, 'commits'> },
  signal: AbortSignal,
  enter: () => () => void,
  chunksUntil: (gone: AbortSignal) => AsyncGenerator<string>,
): Response {
  const encoder = new TextEncoder()
  const left = new AbortController()
  const barrier = store.commits.barrier()
  const chunks = counted(enter, chunksUntil(AbortSignal.any([signal, left.signal])))
  // Read only as fast as the caller does: an answer that nobody reads costs nothing.
  const stream = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
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
        if (done) controller.close()
        else controller.enqueue(encoder.encode(value))
      },
      cancel: async () => {
        left.abort()
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

/** Counts a stream from when it is first read until it ends. */
async function* counted(
  enter: () => () => void,
  chunks: AsyncGenerator<string>,
): AsyncGenerator<string> {
  const leave = enter()
  try {
    yield* chunks
  } finally {
    leave()
  }
}

import type { Clock } from '../../lib/clock.ts'
import { errorBody, type OpenAiError } from './openai-error.ts'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that gather answers would hold back what keeps the connection alive.
  'x-accel-buffering': 'no',
}

const done = 'data: [DONE]\n\n'
const dataOf = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

/** Chunks that are all there, as an event stream. */
export const streamOf = (chunks: readonly object[], more: Record<string, string>): Response =>
  new Response(chunks.map(dataOf).join('') + done, { headers: { ...headers, ...more } })

/** What a stream that begins before its answer is there needs to know. */
export type EarlyStream = {
  readonly clock: Clock
  /** A comment goes out this often until there is an answer. */
  readonly keepAliveMs: number
  readonly more: Record<string, string>
  /** Called when the caller leaves. */
  readonly onLeave: () => void
  readonly explain: (error: unknown) => OpenAiError
}

/** An event stream that begins at once, with comments until the chunks are there, or with an error in place of them. */
export function earlyStreamOf(
  chunks: Promise<readonly object[]>,
  { clock, keepAliveMs, more, onLeave, explain }: EarlyStream,
): Response {
  const ended = new AbortController()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: async (stream) => {
      const send = (text: string) => {
        if (!ended.signal.aborted) stream.enqueue(encoder.encode(text))
      }
      const beat = async () => {
        for (;;) {
          send(': waiting\n\n')
          await clock.sleep(keepAliveMs, ended.signal)
        }
      }
      beat().catch(() => {})
      try {
        send((await chunks).map(dataOf).join('') + done)
      } catch (error) {
        send(dataOf(errorBody(explain(error))))
      }
      if (!ended.signal.aborted) stream.close()
      ended.abort()
    },
    cancel: () => {
      ended.abort()
      onLeave()
    },
  })
  return new Response(body, { headers: { ...headers, ...more } })
}

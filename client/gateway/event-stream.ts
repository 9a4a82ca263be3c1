/*
 * Problem: an answer is known only when the quorum has agreed on it, minutes later in the worst case. Callers and proxies give up on
 * connections that are silent, and a response that has begun can have no HTTP status any more.
 *
 * Idea: the response begins when the job is submitted, which was the last step that often fails, or after the first interval. Until the
 * answer is there, comments tell the step and the nodes. The format has them ignored by all readers.
 *
 * Invariants: nothing of an answer is sent before it was checked. A stream ends with a whole answer or with an error, never with both.
 *
 * Failure cases: a caller that leaves cancels the job.
 */

import type { Clock } from '../../lib/clock.ts'
import type { Progress } from './progress.ts'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that gather answers would hold back what keeps the connection alive.
  'x-accel-buffering': 'no',
}

/** One event with JSON, and with a name where the protocol has them. */
export const eventOf = (data: object, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** Events that are all there. */
export const streamOf = (events: string, more: Record<string, string>): Response =>
  new Response(events, { headers: { ...headers, ...more } })

/** What a stream that begins before its answer is there needs to know. */
export type EarlyStream = {
  readonly clock: Clock
  /** A comment goes out at least this often until there is an answer. */
  readonly keepAliveMs: number
  readonly more: Record<string, string>
  readonly progress: Progress
  /** Events that say that the answer is under way, beside each comment of the interval; may be empty. */
  readonly alive: () => string
  readonly failure: (error: unknown) => string
  /** Called when the caller leaves. */
  readonly onLeave: () => void
}

/** An event stream with comments until its events are there, or with an error in place of them. */
export function earlyStreamOf(events: Promise<string>, early: EarlyStream): Response {
  const { clock, keepAliveMs, more, progress, alive, failure, onLeave } = early
  const ended = new AbortController()
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    start: async (stream) => {
      const send = (text: string) => {
        if (!ended.signal.aborted) stream.enqueue(encoder.encode(text))
      }
      const comment = () => send(`: ${progress.line()}\n\n`)
      const beat = async () => {
        for (;;) {
          comment()
          send(alive())
          await clock.sleep(keepAliveMs, ended.signal)
        }
      }
      progress.listen(comment)
      beat().catch(() => {})
      try {
        send(await events)
      } catch (error) {
        send(failure(error))
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

/** True when an answer, or its failure, is there before its stream has to begin. */
export async function isInTime(
  answered: Promise<unknown>,
  { clock, keepAliveMs, progress }: Pick<EarlyStream, 'clock' | 'keepAliveMs' | 'progress'>,
): Promise<boolean> {
  const waited = new AbortController()
  const late = Promise.race([
    progress.submitted,
    clock.sleep(keepAliveMs, waited.signal).catch(() => {}),
  ])
  try {
    return await Promise.race([
      answered.then(
        () => true,
        () => true,
      ),
      late.then(() => false),
    ])
  } finally {
    waited.abort()
  }
}

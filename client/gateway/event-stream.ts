/*
 * Problem: an answer is known only when the quorum has agreed, which may take minutes. Callers and proxies give up on silent connections, and
 * a response that has begun can no longer change its HTTP status.
 *
 * Idea: the response begins when the job is submitted, since later steps seldom fail, or after the first interval. Until the answer is
 * there, comments tell the step. Readers ignore comments.
 *
 * Invariants: no part of an answer is sent before it was checked. A stream ends with a whole answer or with an error, never with both.
 *
 * Failure cases: a caller that leaves cancels the job, unless a node has committed.
 */

import type { Clock } from '../../lib/clock.ts'
import type { Progress } from './progress.ts'

const headers = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-store',
  // Proxies that buffer responses would hold back the comments.
  'x-accel-buffering': 'no',
}

/** Writes one event with JSON, and with its name if it has one. */
export const eventOf = (data: object, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`

/** Makes the response of a stream whose events are known. */
export const streamOf = (events: string, more: Record<string, string>): Response =>
  new Response(events, { headers: { ...headers, ...more } })

/** Options of a stream that begins before its answer is known. */
export type EarlyStream = {
  readonly clock: Clock
  /** The longest time without a comment until there is an answer, in milliseconds. */
  readonly keepAliveMs: number
  readonly more: Record<string, string>
  readonly progress: Progress
  /** Makes events that go with each comment; may be empty. */
  readonly alive: () => string
  readonly failure: (error: unknown) => string
  /** Called when the caller leaves. */
  readonly onLeave: () => void
}

/** Makes a stream of comments, which ends with the events or with an error. */
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

/** True when the answer or its failure is known before the stream has to begin. */
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

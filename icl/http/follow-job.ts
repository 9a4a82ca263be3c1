import { elapsedSince } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { encode } from '../../lib/encode.ts'
import { JobEvent } from '../../lib/schemas/jobs.ts'
import { jobKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadJob } from '../operations/change-job.ts'
import { isSettled, type Job } from '../rules/job.ts'
import { shownJob } from '../rules/shown-job.ts'
import type { ConnectionLimit } from './connection-limit.ts'
import { eventStreamAnswer } from './event-stream.ts'

const pingMs = 15_000

/**
 * A stream of a job's events after `lastSeq`, which ends when nothing more can happen. A comment is sent every 15 s. A caller that
 * has the last event of an ended job gets 204, which tells an EventSource to stop.
 */
export async function followJob(
  deps: Dependencies,
  jobId: JobId,
  lastSeq: number,
  signal: AbortSignal,
  connections: ConnectionLimit,
): Promise<Response> {
  const known = shownJob(await loadJob(deps, jobId))
  if (hasEnded(known) && lastSeq > 0 && (known.events.at(-1)?.seq ?? 0) <= lastSeq) {
    return new Response(null, { status: 204, headers: { 'cache-control': 'no-store' } })
  }
  return eventStreamAnswer(
    deps,
    signal,
    () => {
      connections.enter('events', jobId)
      return () => connections.leave('events', jobId)
    },
    (gone) => eventChunks(deps, jobId, lastSeq, gone),
  )
}

// One error for all looks: creating one for each would cost more than the look.
const over = new Error('The look is over')

async function* eventChunks(
  deps: Dependencies,
  jobId: JobId,
  lastSeq: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { clock, notifier } = deps
  let seen = lastSeq
  let quietSince = clock.monotonic()
  while (!signal.aborted) {
    const looked = new AbortController()
    const leftMs = Math.max(pingMs - elapsedSince(clock, quietSince), 0)
    // The wait starts before the look, so that no news in between is missed.
    const ended = AbortSignal.any([signal, looked.signal])
    const news = notifier.wait([jobKey(jobId)], leftMs, ended)
    try {
      const job = shownJob(await loadJob(deps, jobId))
      for (const event of job.events.filter(({ seq }) => seq > seen)) {
        yield `id: ${event.seq}\nevent: job\ndata: ${JSON.stringify(encode(JobEvent, event))}\n\n`
        seen = event.seq
        quietSince = clock.monotonic()
      }
      // The last look comes after the notifier closed, so that what it told of is sent.
      if (hasEnded(job) || notifier.closed) return
      await news
    } finally {
      looked.abort(over)
    }
    if (elapsedSince(clock, quietSince) < pingMs) continue
    yield ': still here\n\n'
    quietSince = clock.monotonic()
  }
}

/** Settled, and on chain if it belongs there. */
const hasEnded = (job: Job): boolean =>
  isSettled(job.phase) && (job.phase !== 'accepted' || job.commitTx !== undefined)

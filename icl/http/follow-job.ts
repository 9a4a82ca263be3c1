import { z } from 'zod'
import { elapsedSince } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { JobEvent } from '../../lib/schemas/jobs.ts'
import { jobKey } from '../async/notifier.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadJob } from '../operations/change-job.ts'
import { pollUntil } from '../operations/poll.ts'
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

async function* eventChunks(
  deps: Dependencies,
  jobId: JobId,
  lastSeq: number,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let seen = lastSeq
  let quietSince = deps.clock.monotonic()
  while (!signal.aborted && !deps.notifier.closed) {
    const job = await pollUntil(deps, [jobKey(jobId)], pingMs, signal, async () => {
      const now = shownJob(await loadJob(deps, jobId))
      return { seen: now, enough: hasEnded(now) || (now.events.at(-1)?.seq ?? 0) > seen }
    })
    const news = job.events.filter(({ seq }) => seq > seen)
    for (const event of news) {
      yield `id: ${event.seq}\nevent: job\ndata: ${JSON.stringify(z.encode(JobEvent, event))}\n\n`
      seen = event.seq
    }
    if (hasEnded(job)) return
    if (news.length > 0) quietSince = deps.clock.monotonic()
    else if (elapsedSince(deps.clock, quietSince) >= pingMs) {
      yield ': still here\n\n'
      quietSince = deps.clock.monotonic()
    }
  }
}

/** Settled, and on chain if it belongs there. */
const hasEnded = (job: Job): boolean =>
  isSettled(job.phase) && (job.phase !== 'accepted' || job.commitTx !== undefined)

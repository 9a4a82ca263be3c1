import { readServerEvents } from '../../lib/client/event-stream.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { ConsoleJob, ConsoleNews, ConsoleOverview } from '../../lib/schemas/console.ts'
import { systemClock } from '../../lib/system.ts'
import { ask, IclError } from './icl.ts'

const answerMs = 15_000
const idleMs = 40_000
const firstPauseMs = 1_000
const longestPauseMs = 15_000

/** The state of the page's connection to the ICL. */
export type Liveness = 'connecting' | 'live' | 'reconnecting' | 'locked' | 'absent'

/** Receives the stream's events. */
export type Listener = {
  readonly onLiveness: (liveness: Liveness, error?: string) => void
  readonly onOverview: (overview: ConsoleOverview) => void
  readonly onJobs: (jobs: readonly ConsoleJob[]) => void
  /** Lists may be out of date. */
  readonly onReload: () => void
}

/** Follows the ICL until the signal aborts, and reconnects after each break. Ends when the ICL shows no console or asks for a token. */
export async function follow(listener: Listener, signal: AbortSignal): Promise<void> {
  let pauseMs = firstPauseMs
  while (!signal.aborted) {
    try {
      await followOnce(listener, signal, () => {
        pauseMs = firstPauseMs
        // The stream does not have changes from between reading the lists and following.
        listener.onReload()
      })
    } catch (error) {
      if (error instanceof IclError && error.needsToken) return listener.onLiveness('locked')
      if (error instanceof IclError && error.status === 404) return listener.onLiveness('absent')
      if (signal.aborted) return
      listener.onLiveness('reconnecting', error instanceof Error ? error.message : undefined)
    }
    if (signal.aborted) return
    await systemClock.sleep(pauseMs, signal).catch(() => {})
    pauseMs = Math.min(pauseMs * 2, longestPauseMs)
  }
}

async function followOnce(
  listener: Listener,
  signal: AbortSignal,
  onFirst: () => void,
): Promise<void> {
  const response = await withDeadline(
    systemClock,
    answerMs,
    signal,
    () => new IclError('The ICL does not respond'),
    (inTime) => ask('/v1/console/events', undefined, inTime),
  )
  let isFirst = true
  for await (const { data } of readServerEvents(response, { clock: systemClock, idleMs, signal })) {
    if (isFirst) onFirst()
    isFirst = false
    listener.onLiveness('live')
    const news: ConsoleNews = JSON.parse(data)
    if (news.type === 'overview') listener.onOverview(news.overview)
    else if (news.type === 'jobs') listener.onJobs(news.jobs)
    else listener.onReload()
  }
  listener.onLiveness('reconnecting')
}

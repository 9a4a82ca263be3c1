import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { encode } from '../../lib/encode.ts'
import { ConsoleNews, type ConsoleOverview } from '../../lib/schemas/console.ts'
import type { RecentJobs } from '../console/recent-jobs.ts'
import type { Viewers } from '../console/viewers.ts'
import type { Dependencies } from '../dependencies.ts'
import { eventStreamAnswer } from './event-stream.ts'

const lookMs = 1_000
const repeatMs = 15_000
/** A reader takes no event of more than 64 KiB. */
const mostJobs = 100

/** What a stream of news is made of, shared by all that are open. */
export type NewsSources = {
  readonly overview: () => Promise<ConsoleOverview>
  readonly recent: RecentJobs
  readonly viewers: Viewers
}

/** A stream that starts with the overview, and brings it again when it changes, and every 15 s; and the jobs that change. */
export function followConsole(
  deps: Dependencies,
  sources: NewsSources,
  address: string,
  signal: AbortSignal,
): Response {
  return eventStreamAnswer(
    deps,
    signal,
    () => sources.viewers.enter(address),
    (gone) => newsUntil(deps, sources, gone),
  )
}

async function* newsUntil(
  { clock, notifier }: Dependencies,
  { overview, recent }: NewsSources,
  gone: AbortSignal,
): AsyncGenerator<string> {
  let shown = ''
  let shownAt: MonotonicMs | undefined
  let change: number | undefined
  while (!gone.aborted && !notifier.closed) {
    const now = await overview()
    const looks = withoutTime(now)
    if (looks !== shown || elapsedSince(clock, shownAt) >= repeatMs) {
      yield eventOf({ type: 'overview', overview: now })
      shown = looks
      shownAt = clock.monotonic()
    }
    // The overview has looked at the jobs, or the store does not answer.
    const changed = change === undefined ? [] : recent.since(change)
    change = recent.changeNow()
    if (changed.length > mostJobs) yield eventOf({ type: 'reload' })
    else if (changed.length > 0) yield eventOf({ type: 'jobs', jobs: [...changed] })
    await clock.sleep(lookMs, gone).catch(() => {})
  }
}

const withoutTime = (overview: ConsoleOverview): string =>
  JSON.stringify({ ...overview, at: undefined })

const eventOf = (news: ConsoleNews): string =>
  `data: ${JSON.stringify(encode(ConsoleNews, news))}\n\n`

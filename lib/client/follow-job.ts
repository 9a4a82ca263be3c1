import { type Clock, elapsedSince, type MonotonicMs } from '../clock.ts'
import type { JobId } from '../codecs.ts'
import type { JobEvent, JobPhase, JobView } from '../schemas/jobs.ts'
import { SvcError } from '../svc-error.ts'
import { type Bell, createBell } from './bell.ts'
import { toClientError } from './client-error.ts'
import type { ClientContext } from './context.ts'
import { stuckJobError } from './inference.ts'
import { isPassing, longestOutageMs } from './outlast.ts'
import { watchEvents } from './watch-events.ts'

const pollMs = 1_000
// While the stream is open, rare polls are enough to notice what no event reports.
const relaxedPollMs = 10_000
const graceMs = 30_000
// The most that all outages together add to a job's deadline.
const mostOutageMs = 600_000

const settledPhases: readonly JobPhase[] = ['accepted', 'disputed', 'expired', 'cancelled']

/** A listener to an accepted job, and the signal that ends it. */
export type Further = { readonly bell: Pick<Bell, 'ring'>; readonly until: AbortSignal }

/** Which job to follow, and when to give up. */
export type Follow = {
  readonly jobId: JobId
  readonly readToken: string
  /** Whether it was submitted just now, so that its events come before there is anything to look at. */
  readonly isNew?: boolean
  /** Listens further to an accepted job, until `until` aborts. Rings once nothing more will be heard: when the job is on chain, or without a stream. */
  readonly further?: Further
  readonly onEvent?: ((event: JobEvent) => void) | undefined
  /** Gives up after a lack of nodes has lasted this many milliseconds; never when left out. */
  readonly giveUpWhenStuckMs?: number | undefined
  readonly signal?: AbortSignal | undefined
}

/**
 * Follows a job until it has settled, and returns it. Listens to the job's events, which say when it settles, and also polls the job: every
 * second, and while the stream is open every 10 s, or ten times in `giveUpWhenStuckMs`. With `giveUpWhenStuckMs`, throws the cause when the job lacks nodes for that
 * long, or when its list is used up. Throws SvcError `job-overdue` when the ICL does not settle the job in time.
 */
export async function followJob(context: ClientContext, follow: Follow): Promise<JobView> {
  const { clock } = context
  const bell = createBell(clock)
  const stop = new AbortController()
  const signal = follow.signal ? AbortSignal.any([follow.signal, stop.signal]) : stop.signal
  // A new job's stream is about to open, and tells all that happens. If it does not open, that rings the bell.
  let streaming = follow.isNew ?? false
  let isAccepted = false
  const watching = watchEvents(
    context,
    follow,
    {
      onEvent: (event) => {
        follow.onEvent?.(event)
        if (settledPhases.includes(event.phase)) bell.ring()
      },
      onStream: (open) => {
        // Later changes come without an event.
        if (streaming && !open) {
          bell.ring()
          if (isAccepted) {
            follow.further?.bell.ring()
            stop.abort()
          }
        }
        streaming = open
      },
    },
    signal,
  )
  const stuckFor = stuckTimer(clock)
  const { giveUpWhenStuckMs = Number.POSITIVE_INFINITY } = follow
  const isPatient = giveUpWhenStuckMs === Number.POSITIVE_INFINITY
  const streamingPollMs = Math.min(Math.max(giveUpWhenStuckMs / 10, pollMs), relaxedPollMs)
  const beganAt = clock.monotonic()
  const jobMs = context.network.limits.job_seconds * 1000
  let allowedMs = jobMs + graceMs
  try {
    if (follow.isNew) await bell.wait(streamingPollMs, follow.signal)
    for (;;) {
      const view = await look(context, follow, beganAt, allowedMs + longestOutageMs)
      if (view !== undefined) {
        if (view.reason === 'list-used-up' && !isPatient) throw stuckJobError(view)
        if (settledPhases.includes(view.status)) {
          isAccepted = view.status === 'accepted' && streaming
          return view
        }
        if (stuckFor(view) >= giveUpWhenStuckMs) throw stuckJobError(view)
        const givenMs = Math.min((view.deadline - view.created_at) * 1000, jobMs + mostOutageMs)
        allowedMs = Math.max(allowedMs, givenMs + graceMs)
        if (elapsedSince(clock, beganAt) > allowedMs) throw overdue(follow.jobId)
      }
      await bell.wait(streaming ? streamingPollMs : pollMs, follow.signal)
    }
  } finally {
    const until = isAccepted ? follow.further?.until : undefined
    if (until && !until.aborted) until.addEventListener('abort', () => stop.abort())
    else {
      follow.further?.bell.ring()
      stop.abort()
      await watching
    }
  }
}

const overdue = (jobId: JobId): SvcError =>
  new SvcError('job-overdue', 'The ICL has not settled the job within the time it allows', {
    hint: `${opening(jobId)} Or use another ICL.`,
    retryable: true,
  })

/** A job may have been accepted while this client heard nothing of it. */
const opening = (jobId: JobId): string =>
  `The job ${jobId} may have an answer all the same, and is then paid for: \`open\` of the client, or \`--open\` of the command, fetches it. Another run pays again.`

/** The error with which an ICL stayed away, which says how to come to the answer. */
function lost(error: unknown, jobId: JobId): unknown {
  const told = toClientError(error)
  if (!(told instanceof SvcError)) return told
  const { code, message, retryable } = told
  const hint = `${told.hint} ${opening(jobId)}`
  return new SvcError(code, message, { hint, retryable, cause: error })
}

/** Polls the job; undefined when the ICL cannot be reached and the job may still be running. */
async function look(
  { api, clock }: ClientContext,
  { jobId, readToken, signal }: Follow,
  beganAt: MonotonicMs,
  patienceMs: number,
): Promise<JobView | undefined> {
  try {
    return await api.getJob({ params: { jobId } }, { readToken, signal })
  } catch (error) {
    signal?.throwIfAborted()
    if (!isPassing(error)) throw error
    if (elapsedSince(clock, beganAt) > patienceMs) throw lost(error, jobId)
    return undefined
  }
}

/** Makes a function that returns for how many milliseconds a job has lacked nodes. */
function stuckTimer(clock: Clock): (view: JobView) => number {
  let since: MonotonicMs | undefined
  return (view) => {
    since = view.reason === 'not-enough-nodes' ? (since ?? clock.monotonic()) : undefined
    return since === undefined ? 0 : elapsedSince(clock, since)
  }
}

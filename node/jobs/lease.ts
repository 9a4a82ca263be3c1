import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { NextStep } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { isPassing } from './abort-reason.ts'
import type { AssignmentId, JobDeps } from './job-deps.ts'
import { longestJobMs } from './job-time.ts'
import { orAborted } from './or-aborted.ts'

// The node must give a job back before the ICL takes it away.
const reserveMs = 2_000
const askMs = 5_000
const askAgainMs = 2_000
// The node asks the ICL for the lease's deadline so long before the end: a request must be under way by then.
const askAheadMs = 7_000
/** If the ICL is away for longer, the job is lost all the same. */
export const longestAwayMs = 330_000

type Deps = Pick<JobDeps, 'api' | 'clock'>

/** Returns the milliseconds until a lease ends, as known at the call. An outage of the ICL extends it. */
export type LeftMs = () => number

/**
 * A lease of `seconds` from now. Work under it is aborted when it ends. The ICL extends leases by the time that it was away, so the node
 * asks for the deadline before it gives up. The lease continues while the ICL does not respond. A lease for one `step` ends with ProblemError
 * `not-your-turn` when the ICL names another step.
 */
export const leaseOf =
  (deps: Deps, { jobId, fence }: AssignmentId, seconds: number, step?: NextStep) =>
  async <T>(
    signal: AbortSignal,
    body: (signal: AbortSignal, leftMs: LeftMs) => Promise<T>,
  ): Promise<T> => {
    signal.throwIfAborted()
    const term = termOf(deps.clock, seconds)
    if (term.leftMs() <= 0) throw leaseOver()
    const [over, done] = [new AbortController(), new AbortController()]
    const leased = AbortSignal.any([signal, over.signal])
    endOf(deps, { jobId, fence, step }, term, AbortSignal.any([signal, done.signal])).then(
      (why) => over.abort(why),
      () => {},
    )
    try {
      return await orAborted(body(leased, term.leftMs), leased)
    } finally {
      done.abort()
    }
  }

type LeaseId = AssignmentId & { readonly step: NextStep | undefined }

type Term = ReturnType<typeof termOf>

/** Tracks when a lease ends: by the ICL's last word, but not while the node is asking or the ICL is away. */
function termOf(clock: Clock, seconds: number) {
  // Limited, because a timer cannot take every number that an ICL may send.
  const toldOf = (seconds: number) => ({
    ms: Math.min(seconds * 1000, longestJobMs) - reserveMs,
    at: clock.monotonic(),
  })
  let told = toldOf(seconds)
  let askedAt: MonotonicMs | undefined
  let awaySince: MonotonicMs | undefined
  const left = (ms: number, mark: MonotonicMs | undefined) => ms - elapsedSince(clock, mark)
  return {
    leftMs: () =>
      Math.max(left(told.ms, told.at), left(askMs, askedAt), left(longestAwayMs, awaySince)),
    isAway: () => awaySince !== undefined,
    asked: () => {
      askedAt = clock.monotonic()
    },
    silent: () => {
      awaySince ??= askedAt
      askedAt = undefined
    },
    answered: (secondsLeft: number | undefined) => {
      if (secondsLeft !== undefined) told = toldOf(secondsLeft)
      askedAt = undefined
      awaySince = undefined
    },
  }
}

/** Resolves with the reason once the lease is over, by time or by the ICL's word. */
async function endOf(
  { api, clock }: Deps,
  { jobId, fence, step }: LeaseId,
  term: Term,
  signal: AbortSignal,
): Promise<unknown> {
  for (let leftMs = term.leftMs(); leftMs > 0; leftMs = term.leftMs()) {
    const isFar = leftMs > askAheadMs && !term.isAway()
    await clock.sleep(isFar ? leftMs - askAheadMs : Math.min(leftMs, askAgainMs), signal)
    term.asked()
    try {
      const input = { params: { jobId }, query: { wait: 0 } }
      const view = await api.getAssignment(input, { signal, timeoutMs: askMs })
      if (view.fence !== fence) break
      if (step !== undefined && view.step !== step) return turnOver()
      term.answered(view.deadline && view.deadline - view.server_time)
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) return error
      term.silent()
    }
  }
  return leaseOver()
}

/** Throws ProblemError `job-settled` when the ICL says that the work of an assignment is over. An ICL that is away ends nothing. */
export async function checkStands(
  { api }: Pick<JobDeps, 'api'>,
  { jobId, fence }: AssignmentId,
  signal: AbortSignal,
): Promise<void> {
  const input = { params: { jobId }, query: { wait: 0 } }
  try {
    const view = await api.getAssignment(input, { signal, timeoutMs: askMs })
    if (view.fence === fence && view.step === 'work') return
  } catch (error) {
    signal.throwIfAborted()
    if (isPassing(error)) return
    throw error
  }
  throw new ProblemError('job-settled', 'the job was over before the provider was asked')
}

const turnOver = () => new ProblemError('not-your-turn', 'its time is over')

const leaseOver = (): SvcError =>
  new SvcError('deadline-too-close', 'the deadline came before the work was done', {
    hint: 'A faster model, a faster chain RPC or fewer concurrent jobs would help.',
  })

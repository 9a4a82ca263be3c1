import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ClaimResult, NextStep } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import { isPassing } from './abort-reason.ts'
import type { AssignmentId, JobDeps } from './job-deps.ts'
import { longestJobMs } from './job-time.ts'

// The ICL has to hear of a job given back before it takes it away itself.
const reserveMs = 2_000
const askMs = 5_000
const askAgainMs = 2_000
// The work looks at what is left of its lease shortly before the end: a question has to be under way by then.
const askAheadMs = 7_000
// An answer that is there sooner needs no claim of its own.
const claimsAfterMs = 8_000
// What is left of a poll's claim for that: of its 20 s some may have passed with an answer that was lost.
const toClaimMs = 12_000
// What that claim gives.
const leaseSeconds = 120
/** An ICL that is away for longer takes a job away all the same. */
export const longestAwayMs = 330_000

type Deps = Pick<JobDeps, 'api' | 'clock' | 'log'>

/** Milliseconds until a lease ends, by what is known when it is called: an outage of the ICL makes them more. */
export type LeftMs = () => number

/**
 * A lease of `seconds` from now, for work that ends with it. The ICL adds time in which it was away, so that it is asked before the
 * work is given up; the lease goes on while the ICL does not answer. A lease for one `step` ends with ProblemError `not-your-turn` when the ICL names another.
 */
export const leaseOf = (deps: Deps, id: AssignmentId, seconds: number, step?: NextStep) =>
  leaseFor(deps, { ...id, step }, seconds)

/** The lease of what a poll has claimed: that of an offer, which a claim makes a whole one unless the work is done before. */
export function firstLeaseOf(
  deps: Deps,
  { jobId, fence, claimDeadline, server_time }: ClaimResult,
) {
  const spareMs = (claimDeadline - server_time) * 1000 - toClaimMs
  const afterMs = Math.max(0, Math.min(spareMs, claimsAfterMs))
  return leaseFor(deps, { jobId, fence, step: undefined, claimsAfterMs: afterMs }, leaseSeconds)
}

type LeaseId = AssignmentId & {
  readonly step: NextStep | undefined
  readonly claimsAfterMs?: number
}

function leaseFor(deps: Deps, id: LeaseId, seconds: number) {
  const term = termOf(deps.clock, seconds)
  return {
    async within<T>(
      signal: AbortSignal,
      body: (signal: AbortSignal, leftMs: LeftMs) => Promise<T>,
    ): Promise<T> {
      signal.throwIfAborted()
      if (term.leftMs() <= 0) throw leaseOver()
      const [over, done] = [new AbortController(), new AbortController()]
      const leased = AbortSignal.any([signal, over.signal])
      const aborted = new Promise<never>((_, reject) => {
        leased.addEventListener('abort', () => reject(leased.reason), { once: true })
      })
      endOf(deps, id, term, AbortSignal.any([signal, done.signal])).then(
        (why) => over.abort(why),
        () => {},
      )
      try {
        // The race ends the wait even for work that does not heed its signal.
        return await Promise.race([body(leased, term.leftMs), aborted])
      } finally {
        done.abort()
      }
    },
  }
}

type Term = ReturnType<typeof termOf>

/** When a lease ends: as the ICL said last, and not while it is asked or away. */
function termOf(clock: Clock, seconds: number) {
  // No timer takes all that an ICL may say.
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

/** Resolves with the reason once the lease is over, also by what the ICL says. */
async function endOf(
  { api, clock, log }: Deps,
  { jobId, fence, step, claimsAfterMs }: LeaseId,
  term: Term,
  signal: AbortSignal,
): Promise<unknown> {
  let mustClaim = claimsAfterMs !== undefined
  if (claimsAfterMs !== undefined) await clock.sleep(claimsAfterMs, signal)
  for (let leftMs = term.leftMs(); leftMs > 0; leftMs = term.leftMs()) {
    const isFar = leftMs > askAheadMs && !term.isAway()
    if (!mustClaim)
      await clock.sleep(isFar ? leftMs - askAheadMs : Math.min(leftMs, askAgainMs), signal)
    term.asked()
    try {
      if (mustClaim) {
        const claimed = await api.claimAssignment(
          { body: { jobId, fence } },
          { signal, timeoutMs: askMs },
        )
        mustClaim = false
        term.answered(claimed.claimDeadline - claimed.server_time)
        continue
      }
      const input = { params: { jobId }, query: { wait: 0 } }
      const view = await api.getAssignment(input, { signal, timeoutMs: askMs })
      if (view.fence !== fence) break
      if (step !== undefined && view.step !== step) return turnOver()
      term.answered(view.deadline && view.deadline - view.server_time)
    } catch (error) {
      signal.throwIfAborted()
      if (mustClaim) log.warning(messages.claimFailed(jobId, errorText(error)))
      if (!isPassing(error)) return error
      term.silent()
      if (mustClaim) await clock.sleep(askAgainMs, signal)
    }
  }
  return leaseOver()
}

const turnOver = () => new ProblemError('not-your-turn', 'its time is over')

const leaseOver = (): SvcError =>
  new SvcError('deadline-too-close', 'the deadline came before the work was done', {
    hint: 'A faster model, a faster chain RPC or fewer concurrent jobs would help.',
  })

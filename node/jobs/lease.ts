import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { isPassing } from './abort-reason.ts'
import type { JobDeps } from './job-deps.ts'

// The ICL has to hear of a job given back before it takes it away itself.
const reserveMs = 2_000
const askMs = 5_000
const askAgainMs = 2_000
/** An ICL that is away for longer takes a job away all the same. */
export const longestAwayMs = 330_000

type AssignmentId = Pick<AssignmentOffer, 'jobId' | 'fence'>
type Deps = Pick<JobDeps, 'api' | 'clock'>

/**
 * A lease of `seconds` from now: when the work has to be done (by the node's clock, in milliseconds), and work that ends with it. The
 * ICL adds time in which it was away, so that it is asked before the work is given up.
 */
export function leaseOf(deps: Deps, id: AssignmentId, seconds: number) {
  const leaseMs = seconds * 1000 - reserveMs
  return {
    endsAt: deps.clock.now() + leaseMs,
    async within<T>(signal: AbortSignal, body: (signal: AbortSignal) => Promise<T>): Promise<T> {
      signal.throwIfAborted()
      if (leaseMs <= 0) throw leaseOver()
      const [over, done] = [new AbortController(), new AbortController()]
      const leased = AbortSignal.any([signal, over.signal])
      const aborted = new Promise<never>((_, reject) => {
        leased.addEventListener('abort', () => reject(leased.reason), { once: true })
      })
      endOf(deps, id, leaseMs, AbortSignal.any([signal, done.signal])).then(
        (why) => over.abort(why),
        () => {},
      )
      try {
        // The race ends the wait even for work that does not heed its signal.
        return await Promise.race([body(leased), aborted])
      } finally {
        done.abort()
      }
    },
  }
}

/** Resolves with the reason once the lease is over, also by what the ICL says. */
async function endOf(
  { api, clock }: Deps,
  { jobId, fence }: AssignmentId,
  leaseMs: number,
  signal: AbortSignal,
): Promise<unknown> {
  let leftMs = leaseMs
  let awaySince: MonotonicMs | undefined
  while (leftMs > 0) {
    await clock.sleep(leftMs, signal)
    try {
      const input = { params: { jobId }, query: { wait: 0 } }
      const view = await api.getAssignment(input, { signal, timeoutMs: askMs })
      const isOurs = view.fence === fence && view.deadline !== undefined
      leftMs = isOurs ? ((view.deadline ?? 0) - view.server_time) * 1000 - reserveMs : 0
      awaySince = undefined
    } catch (error) {
      signal.throwIfAborted()
      if (!isPassing(error)) return error
      awaySince ??= clock.monotonic()
      leftMs = elapsedSince(clock, awaySince) < longestAwayMs ? askAgainMs : 0
    }
  }
  return leaseOver()
}

const leaseOver = (): SvcError =>
  new SvcError('deadline-too-close', 'the claim deadline came before the work was done', {
    hint: 'A faster model or fewer concurrent jobs would help.',
  })

import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { fullyJittered, jittered } from '../jitter.ts'
import { isPassing } from '../jobs/abort-reason.ts'
import type { Log } from '../log.ts'
import type { NodeApi } from '../node-api.ts'
import type { Slots } from '../slots.ts'
import type { TakeOffers } from './take-offers.ts'

/** How often a node without a free slot polls (spec 8). */
const pollPeriodMs = 5_000

/** How often a node that works polls at most. The answers to its steps bring offers, too. */
const atWorkPeriodMs = 2_000

/** The longest wait while the ICL is away, without Retry-After. With it, 10,000 nodes make 4,000 requests a second. */
const maxAwayMs = 5_000
/** The longest wait by Retry-After, or after a refusal, which takes the operator to mend. */
const maxBackoffMs = 60_000
const warnAgainMs = 60_000
const claimPatienceMs = 10_000

/** The dependencies of the poller. */
export type PollerOptions = {
  readonly api: Pick<NodeApi, 'getAssignments'>
  /** How long the ICL holds the poll of a node with a free slot, which then polls again at once. */
  readonly pollSeconds: number
  readonly address: Address
  readonly slots: Slots
  readonly take: TakeOffers
  /** Called when the ICL responds again after a poll that failed. */
  readonly onBack: () => void
  /** False while there is no valid certificate. Then the node takes no work. */
  readonly mayWork: () => boolean
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
}

/** Polls until `signal` aborts. The ICL holds a poll while there are free slots, so that work arrives at once. */
export async function pollAssignments(options: PollerOptions, signal: AbortSignal): Promise<void> {
  const { clock, log, slots } = options
  let failures = 0
  const warnedAt = new Map<string, MonotonicMs>()

  /** Returns whether something was offered. */
  const pass = async (): Promise<boolean> => {
    const { assignments } = await fetchAssignments(options, slots.free() > 0, signal)
    if (failures > 0) options.onBack()
    failures = 0
    warnedAt.clear()
    const claiming = options.take(assignments)
    // The ICL does not offer claimed assignments again. A claim that hangs must not stop the polls.
    const late = () => new Error('a claim hangs')
    await withDeadline(clock, claimPatienceMs, signal, late, () =>
      Promise.allSettled(claiming),
    ).catch(() => signal.throwIfAborted())
    return assignments.length > 0
  }

  while (!signal.aborted) {
    const startedAt = clock.monotonic()
    let periodMs = pollPeriodMs
    try {
      if (options.mayWork() && (await pass()) && slots.free() > 0) periodMs = atWorkPeriodMs
    } catch (error) {
      if (signal.aborted) return
      const cause = causeOf(error)
      if (elapsedSince(clock, warnedAt.get(cause)) >= warnAgainMs) {
        log.warning(`Polling for assignments failed: ${errorText(error)}`)
        warnedAt.set(cause, clock.monotonic())
      }
      await clock.sleep(backoffMs(options.random, error, failures), signal).catch(() => {})
      failures += 1
      continue
    }
    const restMs = Math.max(0, periodMs - elapsedSince(clock, startedAt))
    await clock.sleep(restMs, AbortSignal.any([signal, slots.news()])).catch(() => {})
  }
}

/** The key under which warnings are limited to one a minute. The text of an error may differ each time. */
const causeOf = (error: unknown): string =>
  error instanceof ProblemError || error instanceof SvcError ? error.code : ''

function backoffMs(random: Random, error: unknown, failures: number): number {
  if (!isPassing(error)) {
    return jittered(random, Math.min(pollPeriodMs * 2 ** failures, maxBackoffMs))
  }
  const askedMs = error instanceof ProblemError ? (error.retryAfterSeconds ?? 0) * 1000 : 0
  return Math.max(Math.min(askedMs, maxBackoffMs), fullyJittered(random, maxAwayMs))
}

function fetchAssignments(options: PollerOptions, hasRoom: boolean, signal: AbortSignal) {
  const { api, address, pollSeconds } = options
  const wait = hasRoom ? pollSeconds : 0
  return api.getAssignments(
    { params: { address }, query: { wait } },
    { signal, timeoutMs: (wait + 10) * 1000 },
  )
}

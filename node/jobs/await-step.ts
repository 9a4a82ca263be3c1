import { elapsedSince } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { isGone, isPassing } from './abort-reason.ts'
import type { JobDeps } from './job-deps.ts'

const holdSeconds = 20
/** How long the ICL may hold the answer to a step until the next one: if either is lost, the time to reveal has room for another try. */
const answerHoldSeconds = 10
const pauseMs = 2_000
const live: readonly JobPhase[] = ['open', 'running']

/** When the ICL names no deadline. */
const usualSeconds = 30

/** Something to do now, and how long there is by the ICL's clock; `key` is the same for the same step on the same delivery. */
export type Step = {
  readonly key: string
  readonly step: 'work' | 'reveal' | 'deliver' | 'check' | 'open' | 'differ'
  readonly view: OwnAssignment
  readonly secondsLeft: number
}

/** Has the ICL answer a step with the next one; for at most `seconds`. */
export const withNext = (seconds = answerHoldSeconds) => {
  const wait = Math.max(0, Math.min(Math.floor(seconds), answerHoldSeconds))
  return { query: { wait }, timeoutMs: (wait + 10) * 1000 }
}

/** What was done before. */
export type Before = {
  /** What the answer to it said to do next. */
  readonly known?: OwnAssignment | undefined
  /** The key of the last step: when the ICL names it again at once, it may only not have seen it done yet. */
  readonly last?: string | undefined
  /** Keys of steps that this node has given back: it waits instead. */
  readonly refused: ReadonlySet<string>
}

/** Asks, held by the ICL, until there is something to do, or says why there will be nothing. What is known of it already is not asked for. */
export async function awaitStep(
  { api, clock }: JobDeps,
  { jobId, fence }: ClaimResult,
  { known, last, refused }: Before,
  signal: AbortSignal,
): Promise<Step | { readonly over: string }> {
  for (let told = known, isSecond = false; ; ) {
    const startedAt = clock.monotonic()
    const isTold = told !== undefined
    try {
      const view =
        told ??
        (await api.getAssignment(
          { params: { jobId }, query: { wait: holdSeconds } },
          { signal, timeoutMs: (holdSeconds + 10) * 1000 },
        ))
      told = undefined
      const over = overWith(view, fence)
      if (over !== undefined) return { over }
      const { step, deadline, server_time: serverTime } = view
      const key = keyOf(view)
      if (step !== 'wait' && step !== 'over' && !refused.has(key)) {
        const secondsLeft = deadline === undefined ? usualSeconds : deadline - serverTime
        if (key !== last || isSecond) return { key, step, view, secondsLeft }
        isSecond = true
      }
    } catch (error) {
      signal.throwIfAborted()
      if (isGone(error)) return { over: errorText(error) }
      // A commitment that is never opened counts against the node: only a lasting refusal ends the wait.
      if (!isPassing(error)) throw error
    }
    if (isTold && !isSecond) continue
    await clock.sleep(Math.max(0, pauseMs - elapsedSince(clock, startedAt)), signal)
  }
}

/** Why nothing is left to do in an assignment; undefined while there may be something. */
export function overWith(view: OwnAssignment, fence: number): string | undefined {
  if (view.fence !== fence) return 'the assignment was offered again'
  if (!live.includes(view.phase)) return `the job is ${view.phase}`
  return view.step === 'over' ? `the assignment is ${view.status}` : undefined
}

const keyOf = ({ step, to_check }: OwnAssignment): string =>
  `${step} ${to_check?.delivery.signature ?? ''}`

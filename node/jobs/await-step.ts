import { elapsedSince } from '../../lib/clock.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult, OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { isGone, isPassing } from './abort-reason.ts'
import type { JobDeps } from './job-deps.ts'

const holdSeconds = 20
/** How long the ICL may hold its response until the next step. If the response is lost, the time to reveal still allows another try. */
const answerHoldSeconds = 10
const pauseMs = 2_000
const live: readonly JobPhase[] = ['open', 'running']

/** Used when the ICL names no deadline. */
const usualSeconds = 30

/** A step to take now, and the seconds left for it by the ICL's clock. `key` is the same for the same step on the same delivery. */
export type Step = {
  readonly key: string
  readonly step: 'work' | 'reveal' | 'show' | 'deliver' | 'check' | 'differ' | 'weigh' | 'open'
  readonly view: OwnAssignment
  readonly secondsLeft: number
}

/** Request options that make the ICL respond to a step with the next one, held for at most `seconds`. */
export const withNext = (seconds = answerHoldSeconds) => {
  const wait = Math.max(0, Math.min(Math.floor(seconds), answerHoldSeconds))
  return { query: { wait }, timeoutMs: (wait + 10) * 1000 }
}

/** What the node knows from its previous steps. */
export type Before = {
  /** The next step, if the response to the last step named it. */
  readonly known?: OwnAssignment | undefined
  /** The key of the last step. If the ICL names it again at once, the ICL may not have seen yet that it is done. */
  readonly last?: string | undefined
  /** Keys of steps that this node has given back. It does not take them again. */
  readonly refused: ReadonlySet<string>
}

/** Long-polls the ICL until there is a step to take, or returns why the job is over. Does not ask for a step that is known already. */
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
      // A commitment that the node never opens counts against it, so only a permanent refusal ends the wait.
      if (!isPassing(error)) throw error
    }
    if (isTold && !isSecond) continue
    await clock.sleep(Math.max(0, pauseMs - elapsedSince(clock, startedAt)), signal)
  }
}

/** Returns why nothing is left to do in an assignment, undefined while there may be something. */
export function overWith(view: OwnAssignment, fence: number): string | undefined {
  if (view.fence !== fence) return 'the assignment was offered again'
  if (!live.includes(view.phase)) return `the job is ${view.phase}`
  return view.step === 'over' ? `the assignment is ${view.status}` : undefined
}

const keyOf = ({ step, to_check }: OwnAssignment): string =>
  `${step} ${to_check?.delivery.signature ?? ''}`

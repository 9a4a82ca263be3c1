import type { z } from 'zod'
import { elapsedSince } from '../../lib/clock.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { ClaimResult, SignedLeaderStatement } from '../../lib/schemas/assignments.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { isGone, isPassing } from './abort-reason.ts'
import type { JobDeps } from './job-deps.ts'

const holdSeconds = 20
const pauseMs = 2_000
const live: readonly JobPhase[] = ['open', 'running']

/** The leader's signed statement and how long there is to answer it, by the ICL's clock, or why there is nothing left to compare. */
export type LeaderFound =
  | {
      readonly statement: z.output<typeof SignedLeaderStatement>
      readonly secondsLeft?: number | undefined
    }
  | { readonly over: string }

/** Asks, held by the ICL, until the leader's statement is there or the job or the node's assignment is over. */
export async function awaitLeader(
  { api, clock }: JobDeps,
  { jobId, fence }: ClaimResult,
  signal: AbortSignal,
): Promise<LeaderFound> {
  for (;;) {
    const startedAt = clock.monotonic()
    try {
      const view = await api.getAssignment(
        { params: { jobId }, query: { wait: holdSeconds } },
        { signal, timeoutMs: (holdSeconds + 10) * 1000 },
      )
      if (view.fence !== fence) return { over: 'the assignment was offered again' }
      if (view.status !== 'committed') return { over: `the assignment is ${view.status}` }
      if (!live.includes(view.phase)) return { over: `the job is ${view.phase}` }
      const { leader_statement: statement, deadline, server_time: serverTime } = view
      if (statement) {
        return { statement, ...(deadline !== undefined && { secondsLeft: deadline - serverTime }) }
      }
    } catch (error) {
      signal.throwIfAborted()
      if (isGone(error)) return { over: errorMessage(error) }
      // A commitment that is never opened counts against the node: only a lasting refusal ends the wait.
      if (!isPassing(error)) throw error
    }
    await clock.sleep(Math.max(0, pauseMs - elapsedSince(clock, startedAt)), signal)
  }
}

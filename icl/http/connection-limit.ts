import { ProblemError } from '../../lib/problem.ts'
import type { HeldKind, Metrics } from '../telemetry/metrics.ts'
import type { Later } from './later.ts'

const mostPerCaller = 32

/** Counts the connections that callers hold open. */
export type ConnectionLimit = {
  /** Whether a caller holds as many as it may. */
  isFull(caller: string): boolean
  /** Counts one more, until `leave`. Throws `rate-limited` when it holds as many as it may. */
  enter(kind: HeldKind, caller: string): void
  leave(kind: HeldKind, caller: string): void
}

/** Lets each caller hold 32 long-polls and event streams open at once. */
export function createConnectionLimit(metrics: Metrics): ConnectionLimit {
  const held = new Map<string, number>()
  const isFull = (caller: string) => (held.get(caller) ?? 0) >= mostPerCaller
  return {
    isFull,
    enter: (kind, caller) => {
      if (isFull(caller)) {
        throw new ProblemError(
          'rate-limited',
          `At most ${mostPerCaller} requests may be held open at once. End one first`,
          { retryAfterSeconds: 5 },
        )
      }
      held.set(caller, (held.get(caller) ?? 0) + 1)
      metrics.held(kind, 1)
    },
    leave: (kind, caller) => {
      metrics.held(kind, -1)
      const left = (held.get(caller) ?? 1) - 1
      if (left > 0) held.set(caller, left)
      else held.delete(caller)
    },
  }
}

/** Counts a request as held open while `work` may wait for news; its answer comes later. */
export async function laterWithinLimit<T>(
  connections: ConnectionLimit,
  caller: string,
  waitMs: number,
  work: () => Promise<Later<T>> | Later<T>,
): Promise<Later<T>> {
  if (waitMs === 0) return work()
  connections.enter('poll', caller)
  try {
    const { later } = await work()
    return { later, held: { connections, caller } }
  } catch (error) {
    connections.leave('poll', caller)
    throw error
  }
}

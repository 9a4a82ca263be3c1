import { ProblemError } from '../../lib/problem.ts'
import type { HeldKind, Metrics } from '../telemetry/metrics.ts'

const mostPerCaller = 32

/** Counts the connections that callers hold open. */
export type ConnectionLimit = ReturnType<typeof createConnectionLimit>

/** Lets each caller hold 32 long-polls and event streams open at once. */
export function createConnectionLimit(metrics: Metrics) {
  const held = new Map<string, number>()
  const isFull = (caller: string) => (held.get(caller) ?? 0) >= mostPerCaller
  return {
    /** True when a caller holds as many as it may. */
    isFull,
    /** Counts one more, until `leave`. Throws `rate-limited` when the caller holds as many as it may. */
    enter: (kind: HeldKind, caller: string): void => {
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
    leave: (kind: HeldKind, caller: string): void => {
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

type Held = {
  readonly connections: { leave(kind: 'poll', caller: string): void }
  readonly caller: string
}

/** An answer that a request waits for, perhaps for long. Nothing else of the request is kept meanwhile. */
export type Later<T> = {
  readonly later: Promise<T>
  /** Where the request counts as an open connection until then, and the caller that it counts for. */
  readonly held?: Held | undefined
}

/** Ends the counting of a request as an open connection: its answer is there, or will not come. */
export const letGo = (held: Held | undefined): void => held?.connections.leave('poll', held.caller)

/** True for an output that comes later. */
export const isLater = (output: unknown): output is Later<unknown> =>
  typeof output === 'object' && output !== null && 'later' in output

const waiting = new WeakMap<Response, Promise<Response>>()

/** Returns a placeholder for a response that comes later, so that the request can leave the application before. */
export function responseLater(later: Promise<Response>): Response {
  const stand = new Response(null)
  waiting.set(stand, later)
  return stand
}

/** Returns the response behind a placeholder; undefined for a real response. */
export const laterOf = (response: Response): Promise<Response> | undefined => waiting.get(response)

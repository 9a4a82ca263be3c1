import type { Context } from 'hono'
import type { RequestDependencies } from './budget.ts'
import type { Allowance } from './rate-limit.ts'

/** What each request carries through the application. */
export type RequestEnv = {
  Bindings: {
    /** The peer address of the connection, from the runtime. */
    readonly peerAddress?: string | undefined
  }
  /** One variable: Hono keeps them in a map of each request. */
  Variables: { request: RequestState }
}

type RequestState = {
  readonly requestId: string
  /** When the request came, by the stopwatch of the metrics. */
  readonly startedAt: number
  /** Whether the answer may come after the request has left the application: not within a span, and not for HEAD. */
  readonly mayLeave: boolean
  /** The dependencies with a log that names this request. */
  readonly deps: RequestDependencies
  /** The address that the request counts for when it is not authenticated. */
  readonly address: string
  /** The operation in the endpoint table; unset when the path is not in it. */
  operation: string | undefined
  /** The allowance with the least left. */
  allowance: Allowance | undefined
}

/** Serves a request within its context. Never rejects. */
export type Within = (
  c: Context<RequestEnv>,
  serve: () => Promise<Response> | Response,
) => Promise<Response>

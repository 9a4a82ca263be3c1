import type { Dependencies } from '../dependencies.ts'
import type { Allowance } from './rate-limit.ts'

/** What each request carries through the application. */
export type RequestEnv = {
  Bindings: {
    /** The address that the connection came from, as the runtime knows it. */
    readonly peerAddress?: string | undefined
  }
  Variables: {
    requestId: string
    /** When it came, by the stopwatch of the metrics. */
    startedAt: number
    /** Whether an answer may come once the application has been left: not within a span, nor for a HEAD. */
    mayLeave: boolean | undefined
    /** The operation of the endpoint table; unset when the address is none of it. */
    operation: string | undefined
    /** The dependencies with a log that names this request. */
    deps: Dependencies
    /** Where requests are counted under when nobody has signed them. */
    address: string
    /** The allowance that has least left. */
    allowance: Allowance | undefined
  }
}

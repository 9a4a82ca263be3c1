import { z } from 'zod'
import { UnixSeconds } from './codecs.ts'
import { type ProblemCode, problemCodes } from './problem-codes.ts'
import { named } from './schemas/named.ts'

/** An error on the wire: RFC 9457 problem+json with the code, and whether a retry can help. */
export const Problem = named('Problem', {
  type: z.string().max(256),
  title: z.string().max(256),
  status: z.int(),
  code: z.string().max(64),
  retryable: z.boolean(),
  detail: z.string().max(10_000).optional(),
  request_id: z.string().max(256).optional(),
  server_time: UnixSeconds.optional(),
  queue: z.object({ place: z.int(), waiting: z.int() }).optional(),
})
export type Problem = z.output<typeof Problem>

/** A refusal with a code of the table. The ICL throws it, and the client throws the same error. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError'
  readonly code: ProblemCode
  readonly retryAfterSeconds: number | undefined
  /** The ICL's clock in Unix seconds, when it refused a signature for its age. */
  readonly serverTime: number | undefined
  /** The place in the queue of a draw that waits for its turn, from 1 on, and how many wait. */
  readonly queue: Problem['queue']

  constructor(
    code: ProblemCode,
    detail: string,
    options: {
      retryAfterSeconds?: number | undefined
      serverTime?: number | undefined
      queue?: Problem['queue']
    } = {},
  ) {
    super(detail)
    this.code = code
    this.retryAfterSeconds = options.retryAfterSeconds
    this.serverTime = options.serverTime
    this.queue = options.queue
  }

  get status(): number {
    return problemCodes[this.code].status
  }

  get retryable(): boolean {
    return problemCodes[this.code].retryable
  }

  toProblem(requestId?: string): Problem {
    return {
      type: `urn:svc:problem:${this.code}`,
      title: problemCodes[this.code].title,
      status: this.status,
      code: this.code,
      retryable: this.retryable,
      detail: this.message,
      ...(requestId !== undefined && { request_id: requestId }),
      ...(this.serverTime !== undefined && { server_time: this.serverTime }),
      ...(this.queue && { queue: this.queue }),
    }
  }
}

/** True for a code of the table. A newer ICL may send codes that this client does not know. */
export const isProblemCode = (code: string): code is ProblemCode =>
  Object.hasOwn(problemCodes, code)

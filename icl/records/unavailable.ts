import { ProblemError } from '../../lib/problem.ts'

/** The refusal of a request that may succeed after some seconds. */
export const unavailable = (why: string, retryAfterSeconds: number): ProblemError =>
  new ProblemError('unavailable', why, { retryAfterSeconds })

import { z } from 'zod'
import { longestRetrySeconds } from './codecs.ts'

const HttpDate = z.coerce.date()

/** Returns the milliseconds from `nowMs` on of a Retry-After header, in seconds or as an HTTP date; undefined without one. */
export function retryAfterMsOf(headers: Headers | undefined, nowMs: number): number | undefined {
  const asked = headers?.get('retry-after')?.trim()
  if (!asked) return undefined
  const seconds = Number(asked)
  if (!Number.isNaN(seconds)) return positive(seconds * 1000)
  const date = HttpDate.safeParse(asked)
  return date.success ? positive(date.data.getTime() - nowMs) : undefined
}

/** A wait in milliseconds as `RetryAfter` of the protocol: in whole seconds, a day at most. */
export const retryAfterOf = (ms: number): number =>
  Math.min(Math.max(Math.ceil(ms / 1000), 1), longestRetrySeconds)

const positive = (ms: number): number | undefined =>
  Number.isFinite(ms) && ms > 0 ? ms : undefined

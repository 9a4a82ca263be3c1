import { z } from 'zod'

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

const positive = (ms: number): number | undefined =>
  Number.isFinite(ms) && ms > 0 ? ms : undefined

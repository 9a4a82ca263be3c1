import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { Rate, RateName } from '../../lib/schemas/network.ts'

/** What came of asking for one more request. */
export type Allowance = {
  readonly name: RateName
  readonly rate: Rate
  readonly allowed: boolean
  /** How many more may follow at once. */
  readonly remaining: number
  /** Until all of them may again. */
  readonly resetSeconds: number
  /** Until one may; 0 when it may now. */
  readonly retryAfterSeconds: number
}

/** Counts requests per caller; undefined answers mean that nothing limits them. */
export type RateLimiter = {
  /** Takes one request off what a caller may still ask; a refused one costs nothing. */
  take(name: RateName, caller: string): Allowance | undefined
  /** What `take` would say, without taking. */
  look(name: RateName, caller: string): Allowance | undefined
}

/**
 * The generic cell rate algorithm: of each caller it keeps only the time at which its allowance is whole again. It
 * remembers the `maxCallers` that asked last; a forgotten caller starts afresh.
 */
export function createRateLimiter(
  clock: Clock,
  rates: Readonly<Partial<Record<RateName, Rate>>>,
  maxCallers = 65_536,
): RateLimiter {
  // In milliseconds since the start.
  const startedAt = clock.monotonic()
  const wholeAt = new Map<string, number>()

  const ask = (name: RateName, caller: string, takes: boolean): Allowance | undefined => {
    const rate = rates[name]
    if (!rate) return undefined
    const key = `${name} ${caller}`
    const now = elapsedSince(clock, startedAt)
    const windowMs = rate.seconds * 1000
    const intervalMs = windowMs / rate.requests
    const owedMs = Math.max((wholeAt.get(key) ?? now) - now, 0)
    const allowed = owedMs + intervalMs <= windowMs
    const spentMs = allowed && takes ? owedMs + intervalMs : owedMs
    if (allowed && takes) {
      // Map keeps its order: the first is the one that has not asked for longest.
      wholeAt.delete(key)
      wholeAt.set(key, now + spentMs)
      const oldest = wholeAt.size > maxCallers ? wholeAt.keys().next().value : undefined
      if (oldest !== undefined) wholeAt.delete(oldest)
    }
    return {
      name,
      rate,
      allowed,
      remaining: Math.floor((windowMs - spentMs) / intervalMs),
      resetSeconds: Math.ceil(spentMs / 1000),
      retryAfterSeconds: allowed
        ? 0
        : Math.max(1, Math.ceil((owedMs + intervalMs - windowMs) / 1000)),
    }
  }

  return {
    take: (name, caller) => ask(name, caller, true),
    look: (name, caller) => ask(name, caller, false),
  }
}

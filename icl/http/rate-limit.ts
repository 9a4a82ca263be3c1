import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { Rate, RateName } from '../../lib/schemas/network.ts'
import { setNewest } from '../async/set-newest.ts'

/** The answer to a request for one more call, and the state of the caller's allowance. */
export type Allowance = {
  readonly name: RateName
  readonly rate: Rate
  readonly allowed: boolean
  /** How many more calls may follow at once. */
  readonly remaining: number
  /** Until the allowance is whole again. */
  readonly resetSeconds: number
  /** Until the next call is allowed; 0 when it is now. */
  readonly retryAfterSeconds: number
}

/** Counts calls per caller. Its methods return undefined when nothing limits them. */
export type RateLimiter = ReturnType<typeof createRateLimiter>

/**
 * The generic cell rate algorithm. For each caller it stores only the time at which its allowance is whole again. It remembers the
 * `maxCallers` whose calls were allowed last. A forgotten caller starts with a whole allowance.
 */
export function createRateLimiter(
  clock: Clock,
  rates: Readonly<Partial<Record<RateName, Rate>>>,
  maxCallers = 65_536,
) {
  // Values are milliseconds since `startedAt`.
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
      setNewest(wholeAt, key, now + spentMs, maxCallers)
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
    /** Takes one call from a caller's allowance. A refused call takes nothing. */
    take: (name: RateName, caller: string) => ask(name, caller, true),
    /** Returns what `take` would, without taking. */
    look: (name: RateName, caller: string) => ask(name, caller, false),
  }
}

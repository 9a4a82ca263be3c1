import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from './log.ts'

const remindMs = 60_000

type Spell = {
  readonly since: MonotonicMs
  readonly names: Set<string>
  count: number
  failedAt: MonotonicMs
  loggedAt: MonotonicMs
}

/** True for a failure that may pass: the database, the chain or the disk does not answer now. */
export const isPassing = (error: unknown): boolean =>
  (error instanceof ProblemError && error.status === 503) ||
  (error instanceof SvcError && (error.retryable || error.code.startsWith('chain-')))

const codeOf = (error: unknown): string =>
  error instanceof ProblemError || error instanceof SvcError ? error.code : ''

/**
 * Logs work that fails and is retried: at the first failure, once a minute with a count, and when the failures are over. Failures that may
 * pass are warnings, counted by code. Other failures are errors, counted by name.
 */
export function createFailures(
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  message: string,
  /** How long nothing may have failed when it is over, for work of which many pieces have one name. */
  quietMs = 0,
) {
  const spells = new Map<string, Spell>()
  const remove = (key: string, spell: Spell, name: string) => {
    if (quietMs > 0 && elapsedSince(clock, spell.failedAt) < quietMs) return
    if (!spell.names.delete(name) || spell.names.size > 0) return
    spells.delete(key)
    const seconds = Math.round(elapsedSince(clock, spell.since) / 1000)
    log.info(`${message}: over`, { failures: spell.count, seconds })
  }
  return {
    failed: (name: string, error: unknown): void => {
      const passing = isPassing(error)
      const key = passing ? codeOf(error) : name
      const now = clock.monotonic()
      const known = spells.get(key)
      const spell = known ?? {
        since: now,
        names: new Set<string>(),
        count: 0,
        failedAt: now,
        loggedAt: now,
      }
      spells.set(key, spell)
      spell.names.add(name)
      spell.count++
      spell.failedAt = now
      if (known && elapsedSince(clock, known.loggedAt) < remindMs) return
      spell.loggedAt = now
      const fields = { work: name, error: String(error), failures: spell.count }
      if (passing) log.warn(message, fields)
      else log.error(message, fields)
    },
    /** Reports that the work succeeded, or is not retried any more. */
    passed: (name: string): void => {
      for (const [key, spell] of spells) remove(key, spell, name)
    },
  }
}

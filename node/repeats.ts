import { type Clock, elapsedSince, type MonotonicMs } from '../lib/clock.ts'

const firstWaitMs = 60_000
const maxWaitMs = 10 * 60_000
const mostKinds = 1_000

type Kind = {
  message: string
  readonly scope: string
  count: number
  lastAt: MonotonicMs
  /** When it was last written, and how long its repeats are counted from then on. */
  writtenAt: MonotonicMs
  waitMs: number
}

/**
 * Writes a warning that is repeated once, and then how often it came: after a minute, and at intervals that double up to 10 minutes. Also
 * before the next line about the same subject. One that does not come in such an interval is written in full again.
 */
export function createRepeats(clock: Clock, write: (message: string) => void) {
  const kinds = new Map<string, Kind>()

  const tell = (kind: Kind): void => {
    const { message, count, writtenAt, lastAt } = kind
    if (count === 0) return
    const seconds = Math.round(
      (elapsedSince(clock, writtenAt) - elapsedSince(clock, lastAt)) / 1000,
    )
    write(`${message} (${count} more ${count === 1 ? 'time' : 'times'} in ${seconds} s)`)
    Object.assign(kind, { count: 0, writtenAt: lastAt })
  }
  const tellDue = (): void => {
    for (const [key, kind] of kinds) {
      if (elapsedSince(clock, kind.writtenAt) < kind.waitMs) continue
      tell(kind)
      if (elapsedSince(clock, kind.lastAt) >= kind.waitMs) kinds.delete(key)
      else kind.waitMs = Math.min(kind.waitMs * 2, maxWaitMs)
    }
  }
  /** Writes the counts that belong before another line. */
  const before = (message: string): void => {
    tellDue()
    const scope = scopeOf(message)
    for (const kind of kinds.values()) if (kind.scope === scope) tell(kind)
  }
  const end = (): void => {
    for (const kind of kinds.values()) tell(kind)
    kinds.clear()
  }
  return {
    before,
    /** Writes or counts a warning. */
    warn(message: string): void {
      tellDue()
      const key = keyOf(message)
      const kind = kinds.get(key)
      const at = clock.monotonic()
      if (kind) {
        Object.assign(kind, { message, count: kind.count + 1, lastAt: at })
        return
      }
      if (kinds.size >= mostKinds) end()
      before(message)
      const scope = scopeOf(message)
      kinds.set(key, { message, scope, count: 0, lastAt: at, writtenAt: at, waitMs: firstWaitMs })
      write(message)
    },
    /** Writes all counts. */
    end,
  }
}

/** Warnings that differ only in how long something took or will take are repeats. */
const keyOf = (message: string): string => message.replace(/\b\d+(\.\d+)? (s|ms)\b/g, '# s')

/** What a message is about, such as a job. */
const scopeOf = (message: string): string => keyOf(message).split(': ', 1)[0] ?? ''

import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'

const leadershipMs = 15_000
const renewMs = 5_000
const lookMs = 1_000

/** Work that one replica at a time does. A replica that was paused may believe for a moment that it still does. */
export type Leadership = {
  /** The time in which this replica has the work: aborted as soon as it has lost it; undefined while it has not. */
  term(): AbortSignal | undefined
  /** Takes the leadership when it is free, and renews it, until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>
  /** Gives the leadership back, so that another replica need not wait until it expires. */
  release(): Promise<void>
}

/** Leadership by a key of the store; where no other process uses the store, this one has it at once and for good. */
export function createLeadership(deps: Dependencies, key: string): Leadership {
  const { store, clock, log, replicaId: value } = deps
  let term: AbortController | undefined
  /** When this replica asked for the leadership that it has; never where it needs none. */
  let askedAt: MonotonicMs | undefined
  const ageMs = () => (askedAt === undefined ? 0 : elapsedSince(clock, askedAt))

  const begin = () => {
    term = new AbortController()
    log.info('work taken over', { key })
  }
  const lose = () => {
    term?.abort(new Error(`this replica no longer has ${key}`))
    term = undefined
  }
  const current = () => {
    if (term && ageMs() >= leadershipMs) lose()
    return term?.signal
  }
  const look = async () => {
    if (current() && ageMs() < renewMs) return
    const [now, asked] = [clock.now(), clock.monotonic()]
    const holder = current() ? value : await store.findKey(key, now)
    if (holder !== undefined && holder !== value) return
    const expiresAt = now + leadershipMs
    if (!(await store.save({ kind: 'key', key, value, now, expiresAt }))) return lose()
    // Counted from before the request, so that it ends here before it ends in the store.
    askedAt = asked
    if (ageMs() < leadershipMs && !term) begin()
  }

  return {
    term: current,
    keep: async (signal) => {
      if (store.shared) return await every(deps, lookMs, signal, `taking ${key}`, look)
      begin()
      // What is under way may rest on what was lost.
      store.commits.onLost(() => {
        if (!term) return
        lose()
        begin()
      })
    },
    release: async () => {
      const held = current() !== undefined
      lose()
      if (held && store.shared) await store.save({ kind: 'release-key', key, value })
    },
  }
}

import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Dependencies } from '../dependencies.ts'
import { every } from './every.ts'

const leaseMs = 15_000
const renewMs = 5_000
const lookMs = 1_000

/** Work that one replica at a time does. A replica that was paused may believe for a moment that it still does. */
export type Lease = {
  /** The time in which this replica has the work: aborted as soon as it has lost it; undefined while it has not. */
  term(): AbortSignal | undefined
  /** Takes the lease when it is free, and renews it, until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>
  /** Gives the lease back, so that another replica need not wait until it expires. */
  release(): Promise<void>
}

/** A lease on a key of the store; where no other process uses the store, this one has it at once and for good. */
export function createLease(deps: Dependencies, key: string): Lease {
  const { store, clock, log, replicaId: value } = deps
  let term: AbortController | undefined
  /** When this replica asked for the lease that it has; never where it needs none. */
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
    if (term && ageMs() >= leaseMs) lose()
    return term?.signal
  }
  const look = async () => {
    if (current() && ageMs() < renewMs) return
    const [now, asked] = [clock.now(), clock.monotonic()]
    const holder = current() ? value : await store.findKey(key, now)
    if (holder !== undefined && holder !== value) return
    const expiresAt = now + leaseMs
    if (!(await store.save({ kind: 'key', key, value, now, expiresAt }))) return lose()
    // Counted from before the request, so that it ends here before it ends in the store.
    askedAt = asked
    if (ageMs() < leaseMs && !term) begin()
  }

  return {
    term: current,
    keep: async (signal) => {
      if (store.shared) await every(deps, lookMs, signal, `taking ${key}`, look)
      else begin()
    },
    release: async () => {
      const held = current() !== undefined
      lose()
      if (held && store.shared) await store.save({ kind: 'release-key', key, value })
    },
  }
}

import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'
import {
  isLive,
  listReplicas,
  releaseReplica,
  renewReplica,
  renewReplicaMs,
} from '../records/replicas.ts'
import type { HeldKey } from '../store/store.ts'

const leadershipMs = 15_000
const renewMs = 5_000
const lookMs = 1_000

/** The lease for work that one replica at a time does. */
export type Leadership = ReturnType<typeof createLeadership>

/**
 * Creates a lease that is a key of the store. If no other process uses the store, this process has the lease at once and keeps it. A
 * replica that was paused may believe for a moment that it still leads.
 */
export function createLeadership(deps: Dependencies, key: string) {
  const { store, clock, log, replicaId: value } = deps
  let term: AbortController | undefined
  /** When this replica asked for the lease that it has; undefined if it needs no lease. */
  let askedAt: MonotonicMs | undefined
  const ageMs = () => (askedAt === undefined ? 0 : elapsedSince(clock, askedAt))
  /** The lease of another replica, and since when it is the same. */
  let seen: { readonly held: HeldKey; readonly since: MonotonicMs } | undefined
  // A replica whose clock was hours ahead may have died: its lease lasts for hours, and nobody renews it.
  const isAbandoned = (held: HeldKey): boolean => {
    const isSame = seen?.held.value === held.value && seen.held.expiresAt === held.expiresAt
    if (!seen || !isSame) seen = { held, since: clock.monotonic() }
    return elapsedSince(clock, seen.since) >= leadershipMs
  }

  const begin = () => {
    term = new AbortController()
    // The work done by the replica before need not be done again.
    store.renew?.()
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
    const [held] = current() ? [] : await store.listKeys(key, now)
    if (held && held.value !== value && !isAbandoned(held)) return
    const lease = { value, insteadOf: held?.value, now, expiresAt: now + leadershipMs }
    if (!(await store.save({ kind: 'key', key, ...lease }))) return lose()
    // Counts from before the request, so that the lease ends here before it ends in the store.
    askedAt = asked
    if (ageMs() < leadershipMs && !term) begin()
  }

  return {
    /** The signal of the current term, which aborts when the lease is lost; undefined while another replica leads. */
    term: current,
    /** Takes the lease when it is free, and renews it, until the signal aborts. */
    keep: async (signal: AbortSignal): Promise<void> => {
      if (store.shared) return await every(deps, lookMs, signal, `taking ${key}`, look)
      begin()
      // Running work may depend on the lost saves. The new term is not logged: on a full disk there is one a second.
      store.commits.onLost(() => {
        if (!term) return
        lose()
        term = new AbortController()
      })
    },
    /** Gives the lease back, so that another replica need not wait until it expires. */
    release: async () => {
      const held = current() !== undefined
      lose()
      if (held && store.shared) await store.save({ kind: 'release-key', key, value })
    },
  }
}

/** The replicas that share the work now. */
export type LiveReplicas = ReturnType<typeof createLiveReplicas>

/** Follows the replicas of one store. Knows only this one if no other process uses the store. */
export function createLiveReplicas(deps: Dependencies) {
  const { store, clock, replicaId, network } = deps
  let ids: readonly string[] = [replicaId]
  const look = async () => {
    const now = clock.now()
    await renewReplica(store, replicaId, network.version, now)
    const live = (await listReplicas(store, now)).filter((replica) => isLive(replica, now))
    ids = [...new Set([replicaId, ...live.map(({ id }) => id)])]
  }
  return {
    /** The ids at the last look, with this replica's. */
    ids: () => ids,
    /** Renews the record of this replica, and looks for the others, until the signal aborts. */
    keep: async (signal: AbortSignal) => {
      if (store.shared) await every(deps, renewReplicaMs, signal, 'saying that it runs', look)
    },
    /** Removes the record of this replica, which has stopped. */
    release: async () => {
      if (store.shared) await releaseReplica(store, replicaId, clock.now())
    },
  }
}

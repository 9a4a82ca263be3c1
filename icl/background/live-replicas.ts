import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'
import {
  isLive,
  listReplicas,
  releaseReplica,
  renewReplica,
  renewReplicaMs,
} from '../records/replicas.ts'

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

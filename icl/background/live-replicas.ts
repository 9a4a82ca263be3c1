import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'
import {
  isLive,
  listReplicas,
  releaseReplica,
  renewReplica,
  renewReplicaMs,
} from '../records/replicas.ts'

/** Which replicas share the work now. */
export type LiveReplicas = {
  /** Their ids as this replica last saw them; itself is always one of them. */
  ids(): readonly string[]
  /** Says that this replica is there, and looks for the others, until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>
  /** Says that this replica has stopped. */
  release(): Promise<void>
}

/** The replicas over one store; only this one where no other process uses the store. */
export function createLiveReplicas(deps: Dependencies): LiveReplicas {
  const { store, clock, replicaId, network } = deps
  let ids: readonly string[] = [replicaId]
  const look = async () => {
    const now = clock.now()
    await renewReplica(store, replicaId, network.version, now)
    const live = (await listReplicas(store, now)).filter((replica) => isLive(replica, now))
    ids = [...new Set([replicaId, ...live.map(({ id }) => id)])]
  }
  return {
    ids: () => ids,
    keep: async (signal) => {
      if (store.shared) await every(deps, renewReplicaMs, signal, 'saying that it runs', look)
    },
    release: async () => {
      if (store.shared) await releaseReplica(store, replicaId, clock.now())
    },
  }
}

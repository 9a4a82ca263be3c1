import { toBase64Url } from '../../lib/digest.ts'
import {
  findNewestReplica,
  isAbout,
  isAnyBehind,
  joinReplicas,
  listReplicasOfLate,
  newestReplicaKey,
  type Replica,
  renewReplica,
  renewReplicaMs,
  sayBehind,
} from '../records/replicas.ts'
import type { Mirror } from './fallback-mirror.ts'
import { askPrimary, type Fallback } from './fallback-state.ts'
import { forever } from './forever.ts'

const marginMs = 1_000

/** Says that this replica is there, and looks whether others are, or have been: then the mirror is not all that there is. */
export async function heartbeat(fallback: Fallback): Promise<readonly Replica[]> {
  const { replicaId, version, clock } = fallback.options
  const now = clock.now()
  const { replicas, newest } = await askPrimary(fallback, async (store) => {
    await renewReplica(store, replicaId, version, now)
    const replicas = await listReplicasOfLate(store, now)
    return { replicas, newest: await findNewestReplica(store, now) }
  })
  const others = replicas.filter(({ id }) => id !== replicaId)
  const isAlone = !others.some((other) => isAbout(other, now))
  fallback.aloneAt = isAlone ? now : undefined
  fallback.newest = newest
  fallback.heartbeatAt = now
  fallback.isFresh &&= await nobodyJoined(fallback, fallback.mirror)
  return others
}

/** True when no other replica is about, and none has been since a mirror was filled. */
export async function nobodyJoined(fallback: Fallback, { memory }: Mirror): Promise<boolean> {
  const known = await findNewestReplica(memory, fallback.options.clock.now())
  return fallback.aloneAt !== undefined && fallback.newest === known
}

/**
 * Before its first save after an absence a replica lets others be first: one that could work from memory has to see it and will not
 * from then on; one that did has to bring what it saved.
 */
export async function letOthersBeFirst(fallback: Fallback): Promise<void> {
  const { clock, journal, replicaId } = fallback.options
  const wasAbout = isAbout({ id: replicaId, seenAt: fallback.heartbeatAt }, clock.now())
  const others = await heartbeat(fallback)
  await join(fallback)
  if (journal.begun) {
    await askPrimary(fallback, (store) => sayBehind(store, replicaId, clock.now()))
    return
  }
  // Nobody bridged without it: it was alone, or others knew of it.
  if (fallback.isPermitted || (fallback.isLoaded && wasAbout)) return
  // Longer than a replica that is alone takes to look again, or one that was until it finds the database.
  if (others.length > 0) await clock.sleep(renewReplicaMs + marginMs)
  while (await askPrimary(fallback, (store) => isAnyBehind(store, replicaId, clock.now()))) {
    await clock.sleep(marginMs)
  }
}

async function join(fallback: Fallback): Promise<void> {
  if (fallback.hasJoined) return
  const { clock, random } = fallback.options
  const now = clock.now()
  const token = toBase64Url(random.bytes(12))
  const replaced = await askPrimary(fallback, (store) => joinReplicas(store, token, now))
  // Whoever joined since the last look is seen here only.
  fallback.isFresh &&= replaced.every((other) => other === fallback.newest)
  fallback.hasJoined = true
  fallback.mirror.memory.put({
    kind: 'key',
    key: newestReplicaKey,
    value: token,
    expiresAt: forever,
  })
}

/** Goes on saying that this replica is there and behind, until the signal aborts. */
export async function keepHeartbeats(fallback: Fallback, signal: AbortSignal): Promise<void> {
  const { clock, replicaId } = fallback.options
  while (!signal.aborted) {
    await clock.sleep(renewReplicaMs, signal).catch(() => {})
    if (signal.aborted) return
    // A failure shows in the replay, too.
    await askPrimary(fallback, (store) => sayBehind(store, replicaId, clock.now()))
      .then(() => heartbeat(fallback))
      .catch(() => {})
  }
}

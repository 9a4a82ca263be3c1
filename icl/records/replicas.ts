import { forever } from '../store/forever.ts'
import type { Store } from '../store/store.ts'
import { keyOf, prefixOf } from './keys.ts'

/** How often a replica says that it is there, in milliseconds. */
export const renewReplicaMs = 5_000
/** For how long a replica counts as running after it last said so, in milliseconds. */
const replicaLivesMs = 15_000
/** For how long a replica that was not stopped in order is remembered, in milliseconds. */
const replicaExpiryMs = 300_000

const prefix = prefixOf('replica')
/** The key that the process that joined last has. */
export const newestReplicaKey = keyOf('replica-newest')

/** A process that uses the store; times in milliseconds. */
export type Replica = { readonly id: string; readonly seenAt: number }

type Keys = Pick<Store, 'save' | 'findKey' | 'listKeys'>

/** Says that a replica is there; its record outlives it for `replicaExpiryMs`. */
export async function renewReplica(
  store: Keys,
  id: string,
  version: string,
  now: number,
): Promise<void> {
  const value = JSON.stringify({ version })
  const expiresAt = now + replicaExpiryMs
  const record = { kind: 'key', key: keyOf('replica', id), value, now, expiresAt } as const
  if (await store.save(record)) return
  // The record is of this replica as it was before an update.
  await releaseReplica(store, id, now)
  await store.save(record)
}

/** Says that a replica has stopped in order. */
export async function releaseReplica(store: Keys, id: string, now: number): Promise<void> {
  const key = keyOf('replica', id)
  const value = await store.findKey(key, now)
  if (value !== undefined) await store.save({ kind: 'release-key', key, value })
}

/** Every replica that has said within `replicaExpiryMs` that it is there and not that it has stopped, by id. */
export async function listReplicas(store: Keys, now: number): Promise<readonly Replica[]> {
  const records = await store.listKeys(prefix, now)
  return records.map(({ key, expiresAt }) => ({
    id: key.slice(prefix.length),
    // The expiry is the renewal's time and a constant, so that renewing does not change the value.
    seenAt: expiresAt - replicaExpiryMs,
  }))
}

/** True while a replica counts as running. */
export const isLive = ({ seenAt }: Replica, now: number): boolean => now - seenAt < replicaLivesMs

/** True until a replica that was not stopped in order has been silent for `replicaExpiryMs`. */
export const isAbout = ({ seenAt }: Replica, now: number): boolean => now - seenAt < replicaExpiryMs

/**
 * Says before its first save that a process is new, by a token of its own: a process that holds in memory what the store holds sees that
 * it has to look again, however long the process then stays. Returns the tokens in whose place it came.
 */
export async function joinReplicas(
  store: Keys,
  token: string,
  now: number,
): Promise<readonly string[]> {
  const replaced: string[] = []
  const write = {
    kind: 'key',
    key: newestReplicaKey,
    value: token,
    now,
    expiresAt: forever,
  } as const
  while (!(await store.save(write))) {
    const value = await store.findKey(newestReplicaKey, now)
    if (value === undefined) continue
    await store.save({ kind: 'release-key', key: newestReplicaKey, value })
    replaced.push(value)
  }
  return replaced
}

import type { Store } from '../store/store.ts'
import { keyOf, prefixOf } from './keys.ts'

/** How often a replica renews its record, in milliseconds. */
export const renewReplicaMs = 5_000
/** How long a replica counts as running after a renewal, in milliseconds. */
const replicaLivesMs = 15_000
/** How long the record of a replica that did not stop in order is kept, in milliseconds. */
const replicaExpiryMs = 300_000

const prefix = prefixOf('replica')

/** A process that uses the store; times in milliseconds. */
export type Replica = { readonly id: string; readonly seenAt: number }

type Keys = Pick<Store, 'save' | 'findKey' | 'listKeys'>

/** Renews a replica's record, which expires after `replicaExpiryMs`. */
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
  // The record names the version that this replica had before an update.
  await releaseReplica(store, id, now)
  await store.save(record)
}

/** Removes the record of a replica that stops in order. */
export async function releaseReplica(store: Keys, id: string, now: number): Promise<void> {
  const key = keyOf('replica', id)
  const value = await store.findKey(key, now)
  if (value !== undefined) await store.save({ kind: 'release-key', key, value })
}

/** Lists the replicas, by id, that renewed their record within `replicaExpiryMs` and have not removed it. */
export async function listReplicas(store: Keys, now: number): Promise<readonly Replica[]> {
  const records = await store.listKeys(prefix, now)
  return records.map(({ key, expiresAt }) => ({
    id: key.slice(prefix.length),
    // The time of the renewal is in the expiry, so that a renewal does not change the value.
    seenAt: expiresAt - replicaExpiryMs,
  }))
}

/** True while a replica counts as running. */
export const isLive = ({ seenAt }: Replica, now: number): boolean => now - seenAt < replicaLivesMs

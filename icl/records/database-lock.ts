/*
 * Problem: an ICL may work from its local copy while the database is away only if no other ICL saves in the database meanwhile.
 *
 * Idea: one key in the database is a lock that does not expire. Either any number of ICLs share it, and never save while
 * the database is away. Or one ICL has it exclusively, and may save then. It keeps the lock during the outage.
 *
 * Invariants:
 * - An ICL has the lock before its first save. Before a later save it has seen, within the last `recheckLockMs` of its own
 *   monotonic clock, that it still has the lock.
 * - An ICL that shares the lock first leaves its replica record and then takes the lock. An ICL that wants it exclusively
 *   first takes it and then looks for records. So of two that start at once at least one sees the other, and gives way.
 *
 * Failure cases:
 * - A holder is killed: the lock stays. The next start has the same id, which is in the local copy.
 * - The local copy is lost: the lock stays until `icl admin unlock`.
 * - ICLs that shared the lock are killed: their records count for five minutes. Then another ICL can take it exclusively.
 * - An ICL that shared the lock was frozen for those minutes: it checks the lock before it saves. If it froze between the
 *   check and the save, only versions protect the data.
 */

import type { Clock } from '../../lib/clock.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { forever } from '../store/forever.ts'
import type { Store } from '../store/store.ts'
import { version } from '../version.ts'
import { keyOf } from './keys.ts'
import {
  isAbout,
  isLive,
  joinReplicas,
  listReplicas,
  releaseReplica,
  renewReplica,
} from './replicas.ts'

/** How long a check of the lock is good for saves, in milliseconds. */
export const recheckLockMs = 60_000

const key = keyOf('database-lock')
const shared = 'shared'

type Keys = Pick<Store, 'save' | 'findKey' | 'listKeys'>

/** An ICL that wants the lock of its database. */
export type LockHolder = {
  /** The id of the replica, the same after a restart when `isExclusive`. */
  readonly id: string
  readonly isExclusive: boolean
}

type Host = { readonly clock: Clock; readonly random: Random }

const nameOf = ({ id, isExclusive }: LockHolder): string =>
  isExclusive ? `exclusive ${id}` : shared

/** Takes the lock; `wasHeld` when the local copy says that this holder has it. Throws SvcError `store-locked` beside another ICL. */
export const takeDatabaseLock = (
  store: Keys,
  holder: LockHolder & { readonly wasHeld: boolean },
  host: Host,
): Promise<void> =>
  holder.isExclusive ? takeExclusively(store, holder, host.clock) : takeShared(store, holder, host)

/** True while a holder has the lock. */
export const hasDatabaseLock = async (
  store: Keys,
  holder: LockHolder,
  now: number,
): Promise<boolean> => (await store.findKey(key, now)) === nameOf(holder)

/** Releases an exclusive lock. */
export async function releaseDatabaseLock(store: Keys, holder: LockHolder): Promise<void> {
  await store.save({ kind: 'release-key', key, value: nameOf(holder) })
}

/** Removes the lock and all replica records; returns the lock's value. Throws SvcError `store-in-use` while an ICL runs. */
export async function breakDatabaseLock(store: Keys, now: number): Promise<string | undefined> {
  const replicas = await listReplicas(store, now)
  const running = replicas.find((one) => isLive(one, now))
  if (running) {
    throw new SvcError('store-in-use', `An ICL (${running.id}) uses the database`, {
      hint: 'Stop it. A stop gives its lock back. One that was killed counts for 15 s.',
    })
  }
  const value = await store.findKey(key, now)
  if (value !== undefined) await store.save({ kind: 'release-key', key, value })
  for (const { id } of replicas) await releaseReplica(store, id, now)
  return value
}

async function takeShared(store: Keys, holder: LockHolder, { clock, random }: Host): Promise<void> {
  const now = clock.now()
  await renewReplica(store, holder.id, version, now)
  if (await store.save({ kind: 'key', key, value: shared, now, expiresAt: forever })) {
    // The token shows a later exclusive holder that its copy is behind.
    await joinReplicas(store, toBase64Url(random.bytes(12)), now)
    return
  }
  const value = await store.findKey(key, now)
  await releaseReplica(store, holder.id, now)
  throw heldBy(value)
}

async function takeExclusively(
  store: Keys,
  holder: LockHolder & { readonly wasHeld: boolean },
  clock: Clock,
): Promise<void> {
  const now = clock.now()
  const value = nameOf(holder)
  const found = await store.findKey(key, now)
  if (found === value && holder.wasHeld) return
  if (found !== undefined && found !== shared && found !== value) throw heldBy(found)
  const others = async () =>
    (await listReplicas(store, now)).filter((one) => one.id !== holder.id && isAbout(one, now))
  refuseBeside(await others())
  const write = { kind: 'key', key, value, insteadOf: found, now, expiresAt: forever } as const
  if (!(await store.save(write))) throw heldBy(await store.findKey(key, now))
  try {
    refuseBeside(await others())
  } catch (error) {
    if (found === shared) await store.save({ ...write, value: shared, insteadOf: value })
    else await releaseDatabaseLock(store, holder)
    throw error
  }
}

function refuseBeside(others: readonly { readonly id: string }[]): void {
  if (others.length === 0) return
  const ids = others.map(({ id }) => id).join(', ')
  throw new SvcError('store-locked', `Other ICLs share this database (${ids})`, {
    hint: 'Set SVC_ICL_REPLICAS to how many there are, or stop them. One that was killed is forgotten after five minutes.',
  })
}

const heldBy = (value: string | undefined): SvcError =>
  new SvcError('store-locked', `Another ICL has the lock of this database (${value})`, {
    hint: 'Stop it, or set SVC_ICL_REPLICAS on every ICL to how many there are. If its local copy is lost, run `npm run icl -- admin unlock`.',
  })

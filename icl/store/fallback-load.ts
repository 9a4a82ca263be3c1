import type { Address, JobId } from '../../lib/codecs.ts'
import type { KeyedMutex } from '../async/mutex.ts'
import { jobLock, nodeLock } from './fallback-locks.ts'
import type { Mirror } from './fallback-mirror.ts'
import type { Store } from './store.ts'
import { isUnreadable } from './unreadable.ts'

const everything = 1_000_000
const pageSize = 2_000
const atOnce = 16

type Source = Pick<
  Store,
  | 'findJob'
  | 'findNode'
  | 'listNodes'
  | 'listClients'
  | 'listKeys'
  | 'listDueTicks'
  | 'listDueEffects'
  | 'listJobOrigins'
>

/** Fills a mirror with what a store holds; saves that are noted meanwhile in the mirror are kept. */
export async function loadMirror(
  mirror: Mirror,
  store: Source,
  mutex: KeyedMutex,
  now: number,
): Promise<void> {
  for (let after: JobId | undefined; ; ) {
    const origins = await store.listJobOrigins(after, pageSize)
    for (const origin of origins) mirror.origins.add(origin)
    if (origins.length < pageSize) break
    after = origins.at(-1)?.id
  }
  for (const key of await store.listKeys('', now)) {
    // What was noted since is newer, also that it was released or that it has expired.
    if ((await mirror.memory.findKey(key.key, Number.NEGATIVE_INFINITY)) === undefined)
      mirror.memory.put({ kind: 'key', ...key })
  }
  await loadJobs(mirror, store, mutex, await listHeldJobs(store))
  await loadClients(mirror, store)
  // An expired node may come back: its version must be known then, too.
  const nodes = await store.listNodes(0)
  await each(nodes, ({ address }) =>
    // Nobody saves a document here while it is read in its lock.
    mutex(nodeLock(address), async () => {
      const found = await readable(store.findNode(address))
      if (found) await mirror.put({ kind: 'node', node: found.document, version: found.version })
    }),
  )
}

async function loadClients(mirror: Mirror, store: Source): Promise<void> {
  for (let after: Address | undefined; ; ) {
    const clients = await store.listClients(after, pageSize)
    // What was noted since has a higher version, and stays.
    for (const { document: client, version } of clients) {
      await mirror.put({ kind: 'client', client, version })
    }
    after = clients.at(-1)?.document.address
    if (after === undefined) return
  }
}

/** Fills a mirror with these jobs as the store holds them. */
export const loadJobs = (
  mirror: Mirror,
  store: Pick<Store, 'findJob'>,
  mutex: KeyedMutex,
  ids: readonly JobId[],
): Promise<void> =>
  each(ids, (id) =>
    mutex(jobLock(id), async () => {
      const found = await readable(store.findJob(id))
      if (found) await mirror.put({ kind: 'job', job: found.document, version: found.version })
    }),
  )

/** Nothing for a record that cannot be read: the store notes it, and others are loaded. */
const readable = <T>(found: Promise<T | undefined>): Promise<T | undefined> =>
  found.catch((error: unknown) => {
    if (isUnreadable(error)) return undefined
    throw error
  })

/** Jobs that have not settled, or whose effects are not all delivered. */
async function listHeldJobs(store: Source): Promise<readonly JobId[]> {
  const ticks = await store.listDueTicks(Number.MAX_SAFE_INTEGER, everything)
  const effects = await store.listDueEffects(Number.MAX_SAFE_INTEGER, everything)
  return [...new Set([...ticks, ...effects])]
}

async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  const worker = async () => {
    for (const item of left) await work(item)
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
}

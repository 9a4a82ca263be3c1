import type { JobChange, Store } from '../store.ts'
import {
  askPrimary,
  type Bridge,
  isAway,
  noteAway,
  onlyInDatabase,
  settleAll,
  whyNotWorking,
} from './state.ts'

/** Asks the database only; throws `unavailable` while it is away. */
export async function ask<T>(bridge: Bridge, work: (store: Store) => Promise<T>): Promise<T> {
  if (bridge.mode !== 'connected') throw onlyInDatabase(bridge)
  const { era } = bridge
  try {
    return await askPrimary(bridge, work)
  } catch (error) {
    if (isAway(error)) noteAway(bridge, era, error)
    throw error
  }
}

/** Asks the database, or the copy while the database is away. With `wholeOnly` an incomplete copy is not asked. */
async function read<T>(
  bridge: Bridge,
  work: (store: Store) => Promise<T>,
  wholeOnly = false,
): Promise<T> {
  while (bridge.mode === 'connected') {
    try {
      return await ask(bridge, work)
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }
  const { copy } = bridge.options
  if (!copy || whyNotWorking(bridge) !== undefined || (wholeOnly && !bridge.isWhole)) {
    throw onlyInDatabase(bridge)
  }
  await settleAll(bridge)
  return work(copy.store)
}

/** Every read except `scan`. */
export function bridgeReads(bridge: Bridge) {
  const from = <T>(work: (store: Store) => Promise<T>) => read(bridge, work)
  const whole = <T>(work: (store: Store) => Promise<T>) => read(bridge, work, true)
  return {
    findJob: (id) => from((store) => store.findJob(id)),
    listDue: (what, now, limit) => from((store) => store.listDue(what, now, limit)),
    listJobsOfNode: (node) => from((store) => store.listJobsOfNode(node)),
    countOccupiedSlots: () => from((store) => store.countOccupiedSlots()),
    listJobs: (page) => whole((store) => store.listJobs(page)),
    countJobsOfClient: (client, which) => from((store) => store.countJobsOfClient(client, which)),
    findNode: (address) => from((store) => store.findNode(address)),
    listNodes: (now) => from((store) => store.listNodes(now)),
    findClient: (address) => from((store) => store.findClient(address)),
    listReputationEvents: (node, page) => whole((store) => store.listReputationEvents(node, page)),
    findKey: (key, now) => from((store) => store.findKey(key, now)),
    listKeys: (prefix, now) => from((store) => store.listKeys(prefix, now)),
    findBlob: async (cid) => {
      const bytes = await from((store) => store.findBlob(cid))
      // The copy has only blobs that were saved through this bridge.
      if (bytes === undefined && bridge.mode !== 'connected') {
        throw onlyInDatabase(bridge, 'The blob')
      }
      return bytes
    },
    countBlobBytes: (uploader, usedAfter) =>
      from((store) => store.countBlobBytes(uploader, usedAfter)),
    stats: () => from((store) => store.stats()),
    listChanges: (cursor) => listChanges(bridge, cursor),
    ping: () => from((store) => store.ping()),
  } satisfies Partial<Store>
}

type Changes = { readonly cursor: string; readonly jobs: readonly JobChange[] }

/** A cursor of the copy's changes, which include those of the database, and a cursor of the database's changes. */
type Cursor = { readonly here?: string | undefined; readonly there?: string | undefined }

/** Lists changes of the database. While it is away, and once more when it is back, lists those of the copy. */
async function listChanges(bridge: Bridge, text: string | undefined): Promise<Changes> {
  const { copy } = bridge.options
  const cursor: Cursor = text === undefined ? {} : JSON.parse(text)
  const isNew = text === undefined
  const here = () => copy?.store.listChanges(cursor.here)
  while (bridge.mode === 'connected') {
    try {
      const there = await ask(bridge, (store) => store.listChanges(cursor.there))
      const own = await here()
      // After an outage the cursor has no place in the database: the copy lists what was saved meanwhile.
      const jobs = isNew || cursor.there !== undefined ? there.jobs : (own?.jobs ?? [])
      return { cursor: JSON.stringify({ here: own?.cursor, there: there.cursor }), jobs }
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }
  const own = await read(bridge, (store) => store.listChanges(cursor.here))
  return { cursor: JSON.stringify({ here: own.cursor }), jobs: isNew ? [] : own.jobs }
}

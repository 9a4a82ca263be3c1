import { releaseReplica } from '../replicas.ts'
import { keepUp, reconnect, watchConnection } from './fallback-connection.ts'
import { onlyInDatabase, type Reads, readsOf } from './fallback-reads.ts'
import { saveWith } from './fallback-save.ts'
import {
  askPrimary,
  createFallback,
  type Fallback,
  type FallbackOptions,
  isAway,
  noteAway,
  whyNotWritable,
} from './fallback-state.ts'
import { takeUpJournal } from './fallback-take-up.ts'
import type { JobChange, Store, StoreStatus } from './store.ts'

/**
 * A store in a shared database that is bridged from memory while it is away (spec 7): what was known goes on being answered,
 * and saves go to a journal on the disk until the database has them. Throws SvcError `journal-damaged` for a journal that is
 * not whole.
 */
export async function openFallbackStore(options: FallbackOptions): Promise<Store> {
  const fallback = createFallback(options)
  const stop = new AbortController()
  if (options.journal.begun) await takeUpJournal(fallback)
  try {
    await reconnect(fallback)
    if (fallback.mode === 'connected') await keepUp(fallback)
  } catch (error) {
    if (!isAway(error)) throw error
    noteAway(fallback, fallback.era, error)
    options.log.warn('The database does not answer yet', { journal: options.journal.begun })
  }
  const watching = watchConnection(fallback, stop.signal)
  return {
    durable: true,
    shared: true,
    status: () => statusOf(fallback),
    ping: () => ping(fallback),
    close: async () => {
      stop.abort()
      fallback.wake()
      await watching
      await close(fallback)
    },
    save: (write, id) => saveWith(fallback, write, id),
    ...reads(fallback),
    listChanges: (cursor) => listChanges(fallback, cursor),
    prune: async (what) => {
      // The database forgets what is over when it is back.
      if (fallback.mode !== 'connected') return 0
      const count = await ask(fallback, (store) => store.prune(what))
      await fallback.mirror.memory.prune(what)
      if (count === 0) fallback.mirror.origins.forget(what.settledBefore - originsKeptMs)
      return count
    },
    scan: () => {
      if (fallback.mode !== 'connected' || !fallback.primary) throw onlyInDatabase('A backup')
      return fallback.primary.scan()
    },
    restore: async (record) => {
      if (!(await ask(fallback, (store) => store.restore(record)))) return false
      if (record.kind === 'event') fallback.events.note(record.event)
      else if (record.kind !== 'blob') await fallback.mirror.put(record)
      return true
    },
  }
}

/** A job that came this long before a time has surely settled by then. */
const originsKeptMs = 86_400_000

async function ask<T>(fallback: Fallback, work: (store: Store) => Promise<T>): Promise<T> {
  if (fallback.mode !== 'connected') throw onlyInDatabase('This')
  const { era } = fallback
  try {
    return await askPrimary(fallback, work)
  } catch (error) {
    if (isAway(error)) noteAway(fallback, era, error)
    throw error
  }
}

/** Asks the database, or the memory while that is away. */
async function read<T>(fallback: Fallback, work: (reads: Reads) => Promise<T>): Promise<T> {
  while (fallback.mode === 'connected') {
    try {
      return await ask(fallback, work)
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }
  return work(readsHere(fallback))
}

function readsHere(fallback: Fallback): Reads {
  const { mirror, events, blobs, isFresh, isLoaded } = fallback
  if (!isLoaded) throw onlyInDatabase('This')
  const isWritable = whyNotWritable(fallback) === undefined
  return readsOf(mirror, { events, blobs, isWhole: isFresh, isWritable })
}

function reads(fallback: Fallback): Reads {
  const from = <T>(work: (reads: Reads) => Promise<T>) => read(fallback, work)
  return {
    findJob: (id) => from((store) => store.findJob(id)),
    listDueWakes: (now, limit) => from((store) => store.listDueWakes(now, limit)),
    listDueEffects: (now, limit) => from((store) => store.listDueEffects(now, limit)),
    listJobsWithEffects: (after, limit) => from((store) => store.listJobsWithEffects(after, limit)),
    listJobsOfNode: (node) => from((store) => store.listJobsOfNode(node)),
    countOccupiedSlots: () => from((store) => store.countOccupiedSlots()),
    listJobs: (page) => from((store) => store.listJobs(page)),
    listJobsOfClient: (client, page) => from((store) => store.listJobsOfClient(client, page)),
    countJobsOfClient: (client, since) => from((store) => store.countJobsOfClient(client, since)),
    countUnsettledJobsOfClient: (client) =>
      from((store) => store.countUnsettledJobsOfClient(client)),
    listJobOrigins: (after, limit) => from((store) => store.listJobOrigins(after, limit)),
    findNode: (address) => from((store) => store.findNode(address)),
    listNodes: (now) => from((store) => store.listNodes(now)),
    listReputationEvents: async (node) => {
      const { events: cache } = fallback
      const events = await from((store) => store.listReputationEvents(node))
      // Into the cache that was told of what was added since, or into none.
      if (fallback.mode === 'connected') cache.noteAll(node, events)
      return events
    },
    pageReputationEvents: (node, page) => from((store) => store.pageReputationEvents(node, page)),
    findKey: (key, now) => from((store) => store.findKey(key, now)),
    listKeys: (prefix, now) => from((store) => store.listKeys(prefix, now)),
    findBlob: async (cid) => {
      const bytes = await from((store) => store.findBlob(cid))
      if (bytes && fallback.mode === 'connected') fallback.blobs.note(cid, bytes)
      return bytes
    },
    countBlobBytes: (uploader) => from((store) => store.countBlobBytes(uploader)),
    stats: () => from((store) => store.stats()),
  }
}

type Changes = { readonly cursor: string; readonly jobs: readonly JobChange[] }

/** Changes from the database or, while it is away, from memory: a cursor says which of the two it is of. */
async function listChanges(fallback: Fallback, cursor: string | undefined): Promise<Changes> {
  const [source, rest] = cursor?.split(/:(.*)/s) ?? []
  while (fallback.mode === 'connected') {
    // What was saved from memory is in the database by now, before the place where its changes go on.
    const seen =
      source === undefined || source === 'database' ? [] : await changesHere(fallback, source, rest)
    const from = source === undefined || source === 'database' ? rest : fallback.cursor
    try {
      const changes = await ask(fallback, (store) => store.listChanges(from))
      return { cursor: `database:${changes.cursor}`, jobs: [...seen, ...changes.jobs] }
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }
  const { mirror, mirrorNumber } = fallback
  const jobs = source === undefined ? [] : await changesHere(fallback, source, rest)
  return { cursor: `${mirrorNumber}:${(await mirror.memory.listChanges('0')).cursor}`, jobs }
}

/** What changed in memory since a cursor of it; everything that is known, if it is of something else. */
async function changesHere(
  { mirror, mirrorNumber }: Fallback,
  source: string,
  rest: string | undefined,
): Promise<readonly JobChange[]> {
  const from = source === String(mirrorNumber) ? rest : '0'
  return (await mirror.memory.listChanges(from)).jobs
}

function statusOf(fallback: Fallback): StoreStatus {
  const { mode, primary, options } = fallback
  // A save that finds the database away is bridged: what it is worth is seen then.
  if (mode === 'connected' && primary) return { ...primary.status(), writable: true }
  const trouble = whyNotWritable(fallback)
  if (trouble !== undefined) return { connected: false, writable: false, reasons: [trouble] }
  const { written, replayed, place } = options.journal
  const why = fallback.pace
    ? 'the database answers again, and the journal is replayed'
    : 'the database does not answer'
  const reason = `${why}: working from memory; ${written - replayed} saves wait in ${place}`
  return { connected: false, writable: true, reasons: [reason] }
}

/** Answers while the store does its work, from memory too. */
async function ping(fallback: Fallback): Promise<void> {
  if (fallback.mode === 'connected') {
    try {
      return await ask(fallback, (store) => store.ping())
    } catch (error) {
      if (!isAway(error)) throw error
    }
  }
  if (whyNotWritable(fallback) !== undefined) throw onlyInDatabase('Everything')
}

async function close(fallback: Fallback): Promise<void> {
  const { options, primary } = fallback
  const { journal, replicaId, clock, log } = options
  await Promise.allSettled(fallback.locals)
  if (fallback.mode === 'connected') {
    // Others need not wait for one that has stopped in order.
    await ask(fallback, (store) => releaseReplica(store, replicaId, clock.now())).catch(
      (error: unknown) =>
        log.warn('The replica record stays until it expires', { error: String(error) }),
    )
  }
  await journal.close()
  await primary?.close()
}

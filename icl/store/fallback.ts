/*
 * Problem: the specification wants the ICL to work while its database cannot be reached (spec 7). Nothing that was
 * acknowledged may be lost, and two replicas must never decide the same thing differently.
 *
 * Idea: while MongoDB answers, this store passes everything on, and keeps a copy in memory of what may still
 * change (the mirror: open and newly settled jobs, nodes, clients, keys, ids of all jobs). When MongoDB is away, reads come
 * from the mirror, and a save is accepted or refused by it as the database would, written to a journal on the local disk,
 * flushed, applied to the mirror, and then acknowledged. When MongoDB is back, the journal is replayed in order;
 * saves go on, at half its speed, until few writes are left, wait behind a gate for these, and then go to the
 * database again.
 *
 * The parts: fallback-state (what is known), -save, -reads, -connection (comes back, keeps the mirror), -load,
 * -others (other replicas), -replay, -take-up (a journal at start), -mirror, -locks, -pace, -blobs, -events.
 *
 * Invariants:
 * - Saves go to the journal only if this replica saw no other one for five minutes and its mirror is complete
 *   (isPermitted), or if it already has a journal that was begun. A replica that starts beside others waits before
 *   its first save, so that they see it.
 * - Saves of one document come one after the other (a keyed mutex). So at most one save of a document has an unknown
 *   outcome when the connection breaks; it goes to the journal under its write id.
 * - A replayed save whose write id the database has already counts as done. So a replay that was cut off can be
 *   repeated.
 * - What only the database knows is answered with 503 unavailable, never with "there is none".
 *
 * Failure cases:
 * - No journal, a disk that takes no writes, or another replica was about: reads go on, saves get 503.
 * - The database has not answered since the start, and there is no journal: everything gets 503.
 * - The process dies while the database is away: the next one takes up the journal before it listens.
 * - At the replay somebody else has saved the same document, or it is another database: the store is stuck. It
 *   takes no saves, keeps the journal, and an operator has to decide (docs/operations.md, "When the database is
 *   away").
 * - Keys that say which replica runs and which has a lease are kept in memory alone: after a restart they mean
 *   nothing.
 */

import { releaseReplica } from '../records/replicas.ts'
import { keepUp, reconnect, watchConnection } from './fallback-connection.ts'
import { onlyInDatabase, type Reads, readsOf } from './fallback-reads.ts'
import { saveAllWith, saveWith } from './fallback-save.ts'
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
      fallback.skipWait()
      await watching
      await close(fallback)
    },
    save: (write, id) => saveWith(fallback, write, id),
    saveAll: (writes, id) => saveAllWith(fallback, writes, id),
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
    listDueTicks: (now, limit) => from((store) => store.listDueTicks(now, limit)),
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
    findClient: (address) => from((store) => store.findClient(address)),
    listClients: (after, limit) => from((store) => store.listClients(after, limit)),
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
  const { written, replayed, path } = options.journal
  const why = fallback.pace
    ? 'the database is back, and the journal is replayed'
    : 'the database does not answer'
  const reason = `${why}: working from memory; ${written - replayed} saves wait in ${path}`
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

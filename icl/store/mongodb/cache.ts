/*
 * Problem: a request reads its job, its node and that node's jobs several times. From a database that other replicas write to, each read
 * was a command, and most commands of a job were such reads.
 *
 * Idea: each replica keeps the jobs that are not over, and what else it has read lately, in memory. One command (`look`) brings every job,
 * node and client that another process has saved since the one before. A request needs one look that began after the request did
 * (`renew`), which requests at one time share. Everything else is read from memory.
 *
 * Invariants:
 * - Reads find every save that was acknowledged to anyone before the last `renew`, and every save of this process.
 * - A save is made only on top of the save that its document was read from: the database compares the version and the id of the save.
 * - A look asks for what has a later stamp (changes.ts) than its cursor, except for saves whose ids are known. The cursor advances to
 *   the latest stamp that was known for settlingMs: until then, a save with an earlier stamp may still become readable.
 * - Of two versions of a document the higher one stays. After a refused save, it is read from the database.
 * - A job that is over is read from the database each time: it may have been erased.
 *
 * Failure cases: a save that becomes readable later than settlingMs after its stamp, a clock of a single server that was set back, and
 * the deletion of a client by another process are not seen by a look. Each minute, and after a pause of a minute, the memory is compared
 * with the database, and everything but active jobs is dropped. Until then reads are old, and saves on top of them are refused. While the
 * database is away, a read after `renew` throws `unavailable`.
 */

import { Timestamp } from 'mongodb'
import { type Clock, elapsedSince, type MonotonicMs } from '../../../lib/clock.ts'
import type { JobId } from '../../../lib/codecs.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { createMemoryReads } from '../memory/reads.ts'
import { emptyState, put, removeJob } from '../memory/state.ts'
import { numberOf, type Row, textOf, versionedOf } from '../rows.ts'
import {
  documentIn,
  idOf,
  type Store,
  type Versioned,
  type VersionedWrite,
  type Write,
} from '../store.ts'
import type { Unreadable } from '../unreadable.ts'
import { compareStamps, earlierStamp, type Stamp, settlingMs, stampOf } from './changes.ts'
import { rowId } from './collections.ts'
import type { Queries } from './queries.ts'

type Kind = 'job' | 'node' | 'client'

const kinds: readonly Kind[] = ['job', 'node', 'client']
/** How old what background work reads may be: less while jobs change. */
const idleMs = 1_000
const busyMs = 200
const busyForMs = 5_000
/** How often stamps of this process's own saves are read, so that the cursor advances. */
const stampsMs = 5_000
const compareMs = 60_000
const forgetIdMs = 30_000
const fetchedAtOnce = 100
/** Of jobs that have not settled, or have effects to deliver. */
const active = { $or: [{ settledAt: null }, { effectsDueAt: { $gte: 0 } }] }

type Entry = {
  readonly kind: Kind
  readonly id: string
  readonly version: number
  readonly writeId: string
  /** Grows with each change of the memory. */
  readonly at: number
  /** Decodes the row at the first read. */
  readonly read: () => Versioned<Job | Node | Client>
}

/** A save that looks need not bring, its stamp if that is known, and since when this process knows it. */
type Known = { readonly stamp?: Stamp; readonly since: MonotonicMs }

/** Creates an empty cache. */
export function createCache(queries: Queries, unreadable: Unreadable, clock: Clock) {
  const memory = createDocuments(unreadable)
  const feed = createFeed(queries, clock)
  const { renew, renewed, paced, noteJob } = createLooks(queries, memory, feed, clock)
  const find = async <T extends Job | Node | Client>(kind: Kind, id: string) => {
    await renewed()
    const ask = async () => {
      const before = memory.now()
      const row = await queries.one(kind, { _id: rowId(kind, id) })
      return row ? memory.take(row, before) : memory.dropOld(kind, id, before)
    }
    const found = memory.current(kind, id) ?? (await ask())
    return found && (unreadable.read(`${kind} ${id}`, found.read) as Versioned<T>)
  }
  const { reads } = memory
  const inMemory =
    <Args extends unknown[], T>(ready: () => Promise<void>, read: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      await ready()
      return read(...args)
    }
  return {
    reads: {
      renew,
      findJob: (id) => find<Job>('job', id),
      findNode: (address) => find<Node>('node', address),
      findClient: (address) => find<Client>('client', address),
      listDue: inMemory(paced, reads.listDue),
      listChanges: inMemory(paced, reads.listChanges),
      listJobsOfNode: inMemory(renewed, reads.listJobsOfNode),
      countOccupiedSlots: inMemory(renewed, reads.countOccupiedSlots),
    } satisfies Partial<Store>,
    /** How many jobs of a client have not settled. */
    countUnsettled: inMemory(renewed, (client: Job['client']) =>
      reads.countJobsOfClient(client, 'unsettled'),
    ),
    /** Returns the id of the save that made the version on which a save is based; undefined when it is not known. */
    baseOf: (writes: readonly Write[]): string | undefined => {
      const write = documentIn(writes)
      const entry = write && memory.last(write.kind, idOf(write))
      return entry && entry.version === write.base ? entry.writeId : undefined
    },
    /** Notes a save of this process, or that it was refused. */
    noteSave: (writes: readonly Write[], refused: Write | undefined, writeId: string): void => {
      const write = documentIn(writes)
      if (!write) return
      if (write.kind === 'job') noteJob()
      if (refused === write) memory.doubt(write.kind, idOf(write))
      if (refused) return
      feed.know(writeId)
      memory.put(write, writeId)
    },
    drop: memory.drop,
  }
}

/** Looks for what other processes have saved. */
function createLooks(queries: Queries, memory: Documents, feed: Feed, clock: Clock) {
  let [begun, needed, seen] = [0, 0, 0]
  let lookedAt: MonotonicMs | undefined
  let comparedAt: MonotonicMs | undefined
  let changedAt: MonotonicMs | undefined
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  const look = async (): Promise<void> => {
    const [number, at] = [++begun, clock.monotonic()]
    // After a pause, a comparison needs less than all saves since.
    if (elapsedSince(clock, lookedAt) >= compareMs) await feed.start()
    if (elapsedSince(clock, comparedAt) >= compareMs) {
      await compare(queries, memory)
      comparedAt = at
    }
    const rows = await feed.next()
    memory.takeAll(rows)
    if (rows.some(({ kind }) => kind === 'job')) changedAt = at
    lookedAt = at
    seen = number
  }
  /** Looks once for all who ask before the look begins. */
  const lookSoon = (): Promise<void> => {
    next ??= last.then(() => {
      next = undefined
      const looking = look()
      last = looking.catch(() => {})
      return looking
    })
    return next
  }
  const renewed = async (): Promise<void> => {
    const wanted = Math.max(needed, 1)
    while (seen < wanted) await lookSoon()
  }
  return {
    renew: (): void => {
      needed = begun + 1
    },
    /** Resolves once a look that began after the last `renew` is done. */
    renewed,
    /** The same, and looks unless the last look was short ago. */
    paced: async (): Promise<void> => {
      const isBusy = elapsedSince(clock, changedAt) < busyForMs
      if (elapsedSince(clock, lookedAt) >= (isBusy ? busyMs : idleMs)) await lookSoon()
      else await renewed()
    },
    /** Notes that jobs change. */
    noteJob: (): void => {
      changedAt = clock.monotonic()
    },
  }
}

/** The documents in memory. */
function createDocuments(unreadable: Unreadable) {
  const entries = new Map<string, Entry>()
  const doubted = new Set<string>()
  const jobs = emptyState()
  let changes = 0
  /** The last time when entries were dropped that reads under way may find in an older version. */
  let clearedAt = 0
  const drop = (kind: Kind, id: string): void => {
    entries.delete(rowId(kind, id))
    doubted.delete(rowId(kind, id))
    if (kind === 'job') removeJob(jobs, id as JobId)
  }
  const set = (found: Omit<Entry, 'at'>): Entry => {
    const { kind, id, version, writeId, read } = found
    const entry = { ...found, at: ++changes }
    const isKnown = entries.get(rowId(kind, id))?.writeId === writeId && jobs.indexes.has(id)
    doubted.delete(rowId(kind, id))
    entries.set(rowId(kind, id), entry)
    // Only what is new wakes those who wait for changes.
    if (kind !== 'job' || isKnown) return entry
    try {
      const { document } = unreadable.read(`job ${id}`, read)
      put(jobs, { kind, job: document as Job, version })
    } catch {
      // It is in no list. A read of it alone says why.
      removeJob(jobs, id as JobId)
    }
    return entry
  }
  /** True for a job that may be erased. */
  const isOver = (kind: Kind, id: string): boolean => {
    const index = kind === 'job' ? jobs.indexes.get(id) : undefined
    return index?.settledAt !== undefined && index.effects === 0
  }
  /** Takes a row unless a higher version is here, or, with `before`, unless what is here came later than that. Returns what is newer. */
  const take = (row: Row, before?: number): Entry => {
    const { kind, writeId } = row as Pick<Entry, 'kind' | 'writeId'>
    const [id, version] = [textOf(row, 'id'), numberOf(row, 'version')]
    const known = entries.get(rowId(kind, id))
    const isNewer = known && known.version >= version && known.writeId !== writeId
    if (isNewer && (before === undefined || known.at > before)) return known
    let value: Versioned<Job | Node | Client> | undefined
    // Dropped once it is decoded.
    let text: Row | undefined = row
    const read = () => {
      value ??= versionedOf(text as Row, kind)
      text = undefined
      return value
    }
    const found = { kind, id, version, writeId, read }
    if (!known && before !== undefined && before < clearedAt) return { ...found, at: before }
    return set(found)
  }
  return {
    reads: createMemoryReads(jobs),
    now: () => changes,
    last: (kind: Kind, id: string): Entry | undefined => entries.get(rowId(kind, id)),
    /** Returns what need not be read from the database. */
    current: (kind: Kind, id: string): Entry | undefined =>
      doubted.has(rowId(kind, id)) || isOver(kind, id) ? undefined : entries.get(rowId(kind, id)),
    /** Takes a save of this process. */
    put: (write: VersionedWrite, writeId: string): void => {
      const [id, version] = [idOf(write), write.base + 1]
      const known = entries.get(rowId(write.kind, id))
      if (known && known.version > version) return
      const document = documentOfWrite(write)
      set({ kind: write.kind, id, version, writeId, read: () => ({ document, version }) })
    },
    drop,
    /** Drops a document unless it came later than `before`. Returns what is left. */
    dropOld: (kind: Kind, id: string, before: number): Entry | undefined => {
      const known = entries.get(rowId(kind, id))
      if (known && known.at > before) return known
      drop(kind, id)
      return undefined
    },
    /** Drops what came until `before`, but for some jobs. */
    clear: (before: number, isKept: (entry: Entry) => boolean): void => {
      for (const entry of entries.values()) {
        if (entry.at <= before && !isKept(entry)) drop(entry.kind, entry.id)
      }
      clearedAt = ++changes
    },
    /** Has a document read from the database the next time. */
    doubt: (kind: Kind, id: string) => void doubted.add(rowId(kind, id)),
    take,
    /** Takes rows, but for those that cannot be read. */
    takeAll: (rows: readonly Row[], before?: number): void =>
      void unreadable.readerOf('record', (row) => take(row, before))(rows),
  }
}

const documentOfWrite = (write: VersionedWrite): Job | Node | Client => {
  if (write.kind === 'job') return write.job
  return write.kind === 'node' ? write.node : write.client
}

type Documents = ReturnType<typeof createDocuments>

/** Makes the memory that of the database: reads what it lacks of the active jobs, and drops everything else that is not new. */
async function compare({ list }: Queries, memory: Documents): Promise<void> {
  const before = memory.now()
  const rows = await list('job', active, { projection: { writeId: 1 } })
  const present = new Map(rows.map(({ id, writeId }) => [String(id), writeId]))
  const isSame = (id: string) => memory.last('job', id)?.writeId === present.get(id)
  const lacking = [...present.keys()].filter((id) => !isSame(id)).map((id) => rowId('job', id))
  for (let from = 0; from < lacking.length; from += fetchedAtOnce) {
    const some = { _id: { $in: lacking.slice(from, from + fetchedAtOnce) } }
    memory.takeAll(await list('job', some), before)
  }
  // Last, so that lists have every job meanwhile.
  memory.clear(before, ({ kind, id }) => kind === 'job' && present.has(id) && isSame(id))
}

type Feed = ReturnType<typeof createFeed>

/** Reads what other processes have saved. */
function createFeed({ all }: Queries, clock: Clock) {
  const known = new Map<string, Known>()
  let after: Stamp | undefined
  let stampedAt: MonotonicMs | undefined
  const since = ([t, i]: Stamp) => ({ changed: { $gt: new Timestamp({ t, i }) } })
  /** Learns the stamps of saves, and advances the cursor to the latest of those with `ids`. */
  const settle = async (from: Stamp, ids: readonly string[]): Promise<Stamp> => {
    stampedAt = clock.monotonic()
    const rows = await all(since(from), { projection: { writeId: 1, changed: 1 } })
    for (const row of rows) {
      const found = known.get(String(row.writeId))
      if (found) known.set(String(row.writeId), { ...found, stamp: stampOf(row) })
    }
    const stamps = ids.flatMap((writeId) => {
      const stamp = known.get(writeId)?.stamp
      return stamp ? [stamp] : []
    })
    const last = stamps.toSorted(compareStamps).at(-1) ?? from
    for (const [writeId, { stamp, since }] of known) {
      // One without a stamp was followed by another save of its document.
      const isOver = stamp
        ? compareStamps(stamp, last) <= 0
        : elapsedSince(clock, since) > forgetIdMs
      if (isOver) known.delete(writeId)
    }
    return last
  }
  return {
    /** Sets the cursor, so that nothing is missed that is read from now on. */
    start: async (): Promise<void> => {
      stampedAt = clock.monotonic()
      const options = { projection: { changed: 1 }, sort: { changed: -1 }, limit: 1 } as const
      const [newest] = await all(since([0, 0]), options)
      after = earlierStamp(newest && stampOf(newest))
    },
    /** Returns the rows that have changed since the last call, but for saves that are known. */
    next: async (): Promise<readonly Row[]> => {
      const from = after ?? earlierStamp(undefined)
      // This look brings every save with an earlier stamp than these, before the cursor passes them.
      const old = [...known].flatMap(([writeId, { since }]) =>
        elapsedSince(clock, since) >= settlingMs ? [writeId] : [],
      )
      const writeId = { $nin: [...known.keys()] }
      const rows = await all({ ...since(from), writeId, kind: { $in: kinds } }, {})
      if (old.length > 0 && elapsedSince(clock, stampedAt) >= stampsMs) {
        after = await settle(from, old)
      }
      const now = clock.monotonic()
      for (const row of rows) known.set(String(row.writeId), { stamp: stampOf(row), since: now })
      return rows
    },
    /** Notes a save of this process. */
    know: (writeId: string): void => {
      known.set(writeId, { since: clock.monotonic() })
    },
  }
}

import type { Address, JobId } from '../../lib/codecs.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'

/** A document with its version, which the next save names as its `base`. */
export type Versioned<T> = { readonly document: T; readonly version: number }

/** How many slots of a node are occupied, by status of the assignment. */
export type OccupiedSlots = { readonly offered: number; readonly claimed: number }

/** Who uploaded a blob: each kind of uploader has its own limit of space. */
export type Uploader = 'wallet' | 'node' | 'icl'

/** The room that a blob counts in: its uploader's in the store, or in Kubo. */
export type RoomName = `${'' | 'kubo-'}${Uploader}`

type Versions = {
  /** The version at which the document was read; 0 for a new document. The save makes it the next one. */
  readonly base: number
}

/** A job, node or client: the documents that have versions. */
type Document =
  | { readonly kind: 'job'; readonly job: Job }
  | { readonly kind: 'node'; readonly node: Node }
  | { readonly kind: 'client'; readonly client: Client }

type Event = { readonly kind: 'event'; readonly event: ReputationEvent }

/** How long a blob is kept; times in milliseconds. Saves raise each of them, and lower none. */
export type Keep = {
  readonly until: number
  /** Until when it is in use, and not dropped to make room; 0 when left out. The blobs that were last used the longest ago go first. */
  readonly usedUntil?: number | undefined
  /** A blob of an accepted job: those without go first. */
  readonly isAnswered?: boolean | undefined
}

type Blob = Keep & {
  readonly kind: 'blob'
  readonly cid: string
  readonly bytes: Uint8Array<ArrayBuffer>
  /** The room that it takes elsewhere; that of its bytes when left out. */
  readonly size?: number | undefined
  readonly uploader: RoomName
}

/** A key, the value that has it, and its expiry (milliseconds). */
export type HeldKey = {
  readonly key: string
  readonly value: string
  readonly expiresAt: number
}

/** A write of a document that has versions. */
export type VersionedWrite = Document & Versions

/** One conditional save; times in milliseconds. */
export type Write =
  | VersionedWrite
  /** Refused when there is an event with this id already. */
  | Event
  /** Gives `key` to `value` until `expiresAt`, or renews it. Refused while a value other than `value` and `insteadOf` has it. */
  | (HeldKey & {
      readonly kind: 'key'
      readonly insteadOf?: string | undefined
      readonly now: number
    })
  /** Takes `key` from `value`; refused when `value` does not have the key. */
  | { readonly kind: 'release-key'; readonly key: string; readonly value: string }
  /** Keeps a blob. One that is there already is kept for as long at least. */
  | Blob
  /** Keeps a blob for as long at least. Refused when there is no such blob, unless `mayBeAbsent`. */
  | (Keep & {
      readonly kind: 'keep-blob'
      readonly cid: string
      readonly mayBeAbsent?: boolean | undefined
    })

/** A write of one kind. */
export type WriteOf<Kind extends Write['kind']> = Extract<Write, { kind: Kind }>

/** The longer of two times to keep a blob. */
export const longerKeep = (a: Keep, b: Keep) => ({
  until: Math.max(a.until, b.until),
  usedUntil: Math.max(a.usedUntil ?? 0, b.usedUntil ?? 0),
  isAnswered: a.isAnswered === true || b.isAnswered === true,
})

/** True when a blob that is kept like `a` need not be kept longer to be kept like `b`. */
export function coversKeep(a: Keep, b: Keep): boolean {
  const both = longerKeep(a, b)
  return (
    a.until === both.until &&
    (a.usedUntil ?? 0) === both.usedUntil &&
    (a.isAnswered ?? false) === both.isAnswered
  )
}

/** A record of a document that has versions. */
export type DocumentRecord = Document & { readonly version: number }

/** A document as a backup holds it. */
export type StoreRecord = DocumentRecord | Event | (HeldKey & { readonly kind: 'key' }) | Blob

/** Returns the record of a document that has versions. */
export const recordOfDocument = (
  kind: DocumentRecord['kind'],
  { document, version }: Versioned<Job | Node | Client>,
) => ({ kind, [kind]: document, version }) as unknown as DocumentRecord

/** Returns the record that a write leaves. */
export const recordBy = ({ base, ...document }: VersionedWrite) =>
  ({ ...document, version: base + 1 }) as DocumentRecord

/** Returns the job, node or client among some writes. Throws TypeError for two: not every store can save two atomically. */
export function documentIn(writes: readonly Write[]): VersionedWrite | undefined {
  const [document, second] = writes.filter((write) => 'base' in write)
  if (second) throw new TypeError('One save has one job, node or client at most')
  return document
}

/** Returns the id, address, key or CID under which a store finds what a write or record is of. */
export function idOf(one: Write | StoreRecord): string {
  if ('key' in one) return one.key
  if ('cid' in one) return one.cid
  if (one.kind === 'event') return one.event.id
  if (one.kind === 'job') return one.job.id
  return one.kind === 'node' ? one.node.address : one.client.address
}

/** A record that `erase` can delete before its retention ends. */
export type Erasable =
  | { readonly kind: 'job'; readonly id: JobId }
  | { readonly kind: 'client'; readonly address: Address }
  | { readonly kind: 'blob'; readonly cid: string }

/** A saved job, and the nodes that it offers work to. */
export type JobChange = {
  readonly id: JobId
  readonly version: number
  readonly offeredTo: readonly Address[]
}

/** The health of a store. */
export type StoreStatus = {
  /** True when the durable store answers; false for a store in memory. */
  readonly connected: boolean
  /** True when the store accepts saves; otherwise they throw `unavailable`. */
  readonly writable: boolean
  /** Problems, for the operator. */
  readonly reasons: readonly string[]
  /** True when a database that is away may hold records that are missing here, so that their absence proves nothing. */
  readonly partial?: boolean
  /** The number of unreadable records found; 0 when left out. */
  readonly unreadable?: number
}

/** Resolves once everything saved so far is durable. Throws `unavailable` when saves were lost since the barrier was made. */
export type Barrier = () => Promise<void>

/** Tells when a store's saves are durable. */
export type Commits = {
  /** Makes a barrier. A caller makes it before it reads what an answer rests on, and waits for it before it sends the answer. */
  barrier(): Barrier
  /** Registers a listener for the loss of saves that had returned. Whatever caches the store has to read it again. */
  onLost(listener: () => void): void
  /** Registers a listener for saves of another process to a store that is not shared, as commands of the operator make them. */
  onForeign(listener: () => void): void
}

/** The commits of a store whose saves are durable when they return, or that promises no durability. */
export const lastingAtOnce: Commits = {
  barrier: () => async () => {},
  onLost: () => {},
  onForeign: () => {},
}

/** Returns the store with saves that return once they are durable, for code that keeps results beyond one request. */
export function lasting(store: Store): Store {
  const whenLasting = async <T>(save: () => Promise<T>): Promise<T> => {
    const barrier = store.commits.barrier()
    const answer = await save()
    await barrier()
    return answer
  }
  return Object.assign(Object.create(store) as Store, {
    save: (...args: Parameters<Store['save']>) => whenLasting(() => store.save(...args)),
    saveAll: (...args: Parameters<Store['saveAll']>) => whenLasting(() => store.saveAll(...args)),
  })
}

/** Figures of the store for the operator. */
type StoreStats = {
  readonly jobsByPhase: Readonly<Partial<Record<JobPhase, number>>>
  /** Effects that are not delivered yet. */
  readonly effects: number
  /** When the longest overdue effect was due, in milliseconds. */
  readonly oldestEffectDueAt: number | undefined
}

/** A place in a list that is ordered by time, then by id. */
export type Position = { readonly at: number; readonly id: string }

/** The room that a blob takes, in bytes. */
export const sizeOf = ({ bytes, size = bytes.length }: Pick<Blob, 'bytes' | 'size'>): number => size

/** A blob that was dropped to make room. */
export type Dropped = { readonly cid: string; readonly size: number }

/** The most that one call of `dropBlobs` looks at. */
export const mostDropped = 1_000

/** Returns the first blobs of a list, in its order, that free so many bytes together. */
export function firstToFree(list: readonly Dropped[], bytes: number): readonly Dropped[] {
  let freed = 0
  return list.filter(({ size }) => {
    const isNeeded = freed < bytes
    freed += size
    return isNeeded
  })
}

/** The part of a list that comes after `before` in the order of the list; `limit` entries at most. */
export type Page = { readonly before?: Position | undefined; readonly limit: number }

/**
 * Everything the ICL remembers. Every save is conditional: false means that its condition failed, usually because another writer was
 * faster, and that nothing changed. Every later read of this process sees a save; those of others see it after `renew`. The save is durable once a barrier has resolved
 * (`commits`). Any method may throw ProblemError `unavailable` when the database is away. Lists leave out an unreadable record, which is
 * logged once. A read of that one record throws SvcError `store-corrupt`. Times are milliseconds. Text is compared by its bytes in
 * UTF-8, which is code point order: a binary collation in a database. Ids and keys are ASCII.
 */
export interface Store {
  /** True when an acknowledged save survives a crash. */
  readonly durable: boolean
  /** True when other processes may save to the store, too. */
  readonly shared: boolean
  readonly commits: Commits
  status(): StoreStatus
  ping(): Promise<void>
  /** Has later reads find all that any process saved before this call. Without it, a store that is not here may read what it read up to a second ago. */
  renew?(): void
  close(): Promise<void>

  /** Saves unless the condition of the write fails. */
  save(write: Write): Promise<boolean>
  /**
   * Saves all writes, or none when the condition of one fails, and returns that write. At most one write is a job, node or client. No
   * two writes are of the same document, key, event or blob.
   */
  saveAll(writes: readonly Write[]): Promise<Write | undefined>

  findJob(id: JobId): Promise<Versioned<Job> | undefined>
  /**
   * Unsettled jobs whose `tickAt` has come at `now`, or jobs with an effect due at `now`, the longest overdue first, without those that
   * were due before `from`.
   */
  listDue(
    what: 'tick' | 'effect',
    now: number,
    limit: number,
    from?: number,
  ): Promise<readonly JobId[]>
  /** Unsettled jobs in which a node occupies a slot (offered or claimed). */
  listJobsOfNode(node: Address): Promise<readonly Job[]>
  /** How many slots of each node are occupied, over all unsettled jobs. */
  countOccupiedSlots(): Promise<ReadonlyMap<Address, OccupiedSlots>>
  /** The jobs of one client or of all clients, newest first, from before a position on. */
  listJobs(
    page: Page & {
      readonly client?: Address | undefined
      readonly phase?: JobPhase | undefined
    },
  ): Promise<readonly Job[]>
  /** Counts a client's jobs created at or after `since`, or its unsettled jobs. */
  countJobsOfClient(client: Address, which: { since: number } | 'unsettled'): Promise<number>
  /** Jobs saved since the call that returned `cursor`, each at least once. Without a cursor it returns a new one and no jobs. */
  listChanges(
    cursor: string | undefined,
  ): Promise<{ readonly cursor: string; readonly jobs: readonly JobChange[] }>

  findNode(address: Address): Promise<Versioned<Node> | undefined>
  /** All nodes whose certificate expires after `now`, by address. */
  listNodes(now: number): Promise<readonly Node[]>

  findClient(address: Address): Promise<Versioned<Client> | undefined>

  /** A node's events by time and id, newest first, from before a position on and back to `since`. */
  listReputationEvents(
    node: Address,
    page: Page & { readonly since?: number | undefined },
  ): Promise<readonly ReputationEvent[]>

  /** The value that has a key at `now`. */
  findKey(key: string, now: number): Promise<string | undefined>
  /** Every key with a prefix that is held at `now`, by key. */
  listKeys(prefix: string, now: number): Promise<readonly HeldKey[]>

  findBlob(cid: string): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** The total size in bytes of the blobs of one room, or of those that are in use after a time. */
  countBlobBytes(uploader: RoomName, usedAfter?: number): Promise<number>

  stats(): Promise<StoreStats>
  /**
   * Deletes at most `limit` of each: jobs that settled before `settledBefore` and whose effects are all delivered, expired keys and
   * expired blobs. Returns how many records it deleted.
   */
  prune(options: {
    readonly now: number
    readonly settledBefore: number
    readonly limit: number
  }): Promise<number>
  /**
   * Deletes blobs of one room that are not in use at `now`, until `bytes` are free: those without an answer first, then those
   * that were last used the longest ago. Deletes at most 1,000; another call goes on. Returns what it deleted.
   */
  dropBlobs(uploader: RoomName, bytes: number, now: number): Promise<readonly Dropped[]>
  /** Deletes a record early. False when it is not there, or is a job that has not settled or has effects to deliver. */
  erase(record: Erasable): Promise<boolean>
  /** Yields every record, for a backup. */
  scan(): AsyncIterable<StoreRecord>
  /** Inserts a record of a backup; false when a record with its id or key is there already. */
  restore(record: StoreRecord): Promise<boolean>
}

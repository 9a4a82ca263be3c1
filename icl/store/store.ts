import type { Address, JobId } from '../../lib/codecs.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import type { JobPhase } from '../../lib/schemas/jobs.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'

/** A document with the version that a later save must still find. */
export type Versioned<T> = { readonly document: T; readonly version: number }

/** How many of a node's slots are occupied, by assignments of each status. */
export type OccupiedSlots = { readonly offered: number; readonly claimed: number }

/** Who uploaded a blob: none takes another's room. */
export type Uploader = 'wallet' | 'node' | 'icl'

type Versions = {
  /** The version that the document was read at, 0 for a new one. */
  readonly base: number
  /** The one that it gets, a later one; `base` + 1 when left out. */
  readonly version?: number | undefined
}

/** One conditional save; times in milliseconds. */
export type Write =
  | ({ readonly kind: 'job'; readonly job: Job } & Versions)
  | ({ readonly kind: 'node'; readonly node: Node } & Versions)
  | ({ readonly kind: 'client'; readonly client: Client } & Versions)
  /** Refused when an event with this id was recorded before. */
  | { readonly kind: 'event'; readonly event: ReputationEvent }
  /** Gives `key` to `value` until `expiresAt`; refused while another value than this or `insteadOf` has it. Its holder renews it so. */
  | {
      readonly kind: 'key'
      readonly key: string
      readonly value: string
      readonly insteadOf?: string | undefined
      readonly now: number
      readonly expiresAt: number
    }
  /** Takes `key` from `value`; refused when that does not have it. */
  | { readonly kind: 'release-key'; readonly key: string; readonly value: string }
  /** Keeps a blob until `until`, or one that is there for as long as that at least. */
  | {
      readonly kind: 'blob'
      readonly cid: string
      readonly bytes: Uint8Array<ArrayBuffer>
      readonly uploader: Uploader
      readonly until: number
    }
  /** Keeps a blob longer; refused when there is none, unless it may be absent. */
  | {
      readonly kind: 'keep-blob'
      readonly cid: string
      readonly until: number
      readonly mayBeAbsent?: boolean | undefined
    }

/** A write of a document that has versions. */
export type VersionedWrite = Extract<Write, { kind: 'job' | 'node' | 'client' }>

/** The version that a document has once it is saved. */
export const versionOf = ({ base, version = base + 1 }: VersionedWrite): number => version

/** What a job, node or client is found by. */
export function idOf(document: VersionedWrite | DocumentRecord): JobId | Address {
  if (document.kind === 'job') return document.job.id
  return document.kind === 'node' ? document.node.address : document.client.address
}

/** The job, node or client that some writes save; throws TypeError for two, because not every store could save both or neither. */
export function documentIn(writes: readonly Write[]): VersionedWrite | undefined {
  const [document, second] = writes.filter((write): write is VersionedWrite => 'base' in write)
  if (second) throw new TypeError('One save has one job, node or client at most')
  return document
}

/** A document as a backup holds it. */
export type StoreRecord =
  | { readonly kind: 'job'; readonly job: Job; readonly version: number }
  | { readonly kind: 'node'; readonly node: Node; readonly version: number }
  | { readonly kind: 'client'; readonly client: Client; readonly version: number }
  | { readonly kind: 'event'; readonly event: ReputationEvent }
  | {
      readonly kind: 'key'
      readonly key: string
      readonly value: string
      readonly expiresAt: number
    }
  | {
      readonly kind: 'blob'
      readonly cid: string
      readonly bytes: Uint8Array<ArrayBuffer>
      readonly uploader: Uploader
      readonly until: number
    }

/** A record of a document that has versions. */
export type DocumentRecord = Extract<StoreRecord, { kind: 'job' | 'node' | 'client' }>

/** What can be forgotten before its end. */
export type Erasable =
  | { readonly kind: 'job'; readonly id: JobId }
  | { readonly kind: 'client'; readonly address: Address }
  | { readonly kind: 'blob'; readonly cid: string }

/** A key and who has it until when (milliseconds). */
export type HeldKey = {
  readonly key: string
  readonly value: string
  readonly expiresAt: number
}

/** A job that was saved, and the nodes that it has offers for. */
export type JobChange = {
  readonly id: JobId
  readonly version: number
  readonly offeredTo: readonly Address[]
}

/** How a store is. */
export type StoreStatus = {
  /** The durable store answers; false for one that is in memory only. */
  readonly connected: boolean
  /** Saves are taken; when not, they throw `unavailable`. */
  readonly writable: boolean
  /** Problems, for the operator. */
  readonly reasons: readonly string[]
  /** What it does not hold may be in a database that is away: nothing is said to be absent. */
  readonly partial?: boolean
  /** How many records were found that cannot be read; none when it is left out. */
  readonly unreadable?: number
}

/** Resolves once everything that was saved so far lasts; throws `unavailable` when something was lost since it was made. */
export type Barrier = () => Promise<void>

/** When a store's saves last. */
export type Commits = {
  /** Made before what is told to anybody outside is read, and waited for before it is told. */
  barrier(): Barrier
  /** Calls back whenever saves were lost that had been answered: what is remembered of the store has to be read again. */
  onLost(listener: () => void): void
}

/** Those of a store whose saves last as soon as they are answered. */
export const lastingAtOnce: Commits = { barrier: () => async () => {}, onLost: () => {} }

/** The store for what remembers more than one request does: its saves are answered once they last. */
export const lasting = (store: Store): Store =>
  Object.assign(Object.create(store) as Store, {
    save: (...args: Parameters<Store['save']>) => whenLasting(store, () => store.save(...args)),
    saveAll: (...args: Parameters<Store['saveAll']>) =>
      whenLasting(store, () => store.saveAll(...args)),
  })

async function whenLasting<T>({ commits }: Store, save: () => Promise<T>): Promise<T> {
  const barrier = commits.barrier()
  const answer = await save()
  await barrier()
  return answer
}

/** What the operator wants to see at a glance. */
export type StoreStats = {
  readonly jobsByPhase: Readonly<Partial<Record<JobPhase, number>>>
  /** Effects that are not delivered yet. */
  readonly effects: number
  /** When the one that has been due longest was due, in milliseconds. */
  readonly oldestEffectDueAt: number | undefined
}

/** A place in a list that is ordered by time, then by id. */
export type Position = { readonly at: number; readonly id: string }

/**
 * Everything the ICL remembers. Every save is conditional: a false answer means that another writer was faster, and nothing was
 * changed. What was saved is there for every later read of this process, and lasts once a barrier says so (`commits`). Any
 * method may throw ProblemError `unavailable` when the database is away. A record that cannot be read is left out of lists and logged once; reading it throws
 * SvcError `store-corrupt`. Times are milliseconds. Text is ordered and compared by its bytes in UTF-8, which is the order of its code
 * points: in a database, a binary collation. Ids and keys are ASCII.
 */
export interface Store {
  /** True when an acknowledged save survives a crash. */
  readonly durable: boolean
  /** True when other processes may save to it, too. */
  readonly shared: boolean
  readonly commits: Commits
  status(): StoreStatus
  ping(): Promise<void>
  close(): Promise<void>

  /**
   * Saves unless the condition of the write fails. A job, node or client whose save is repeated with its id is not saved twice, and answers
   * true unless others saved since; the other kinds may be repeated as they are.
   */
  save(write: Write, writeId?: string): Promise<boolean>
  /**
   * Saves all of these, or none when the condition of one fails: then it answers that write. At most one of them is a job, node or
   * client; no two are of one document, key, event or blob. When that one document has this id, all is taken for done.
   */
  saveAll(writes: readonly Write[], writeId?: string): Promise<Write | undefined>

  findJob(id: JobId): Promise<Versioned<Job> | undefined>
  /** Unsettled jobs whose `tickAt`, or jobs with an effect that, is due at or before `now`, the longest overdue first. */
  listDue(what: 'tick' | 'effect', now: number, limit: number): Promise<readonly JobId[]>
  /** Unsettled jobs in which a node occupies a slot (offered or claimed). */
  listJobsOfNode(node: Address): Promise<readonly Job[]>
  /** How many slots of each node are occupied, over all unsettled jobs. */
  countOccupiedSlots(): Promise<ReadonlyMap<Address, OccupiedSlots>>
  /** Everybody's jobs or one client's, newest first, from before a position. */
  listJobs(page: {
    readonly client?: Address | undefined
    readonly phase?: JobPhase | undefined
    readonly before?: Position | undefined
    readonly limit: number
  }): Promise<readonly Job[]>
  /** A client's jobs from a time on, or those that have not settled. */
  countJobsOfClient(client: Address, which: { since: number } | 'unsettled'): Promise<number>
  /** Jobs saved since the call that gave `cursor`, each at least once; without one, only where to go on from. */
  listChanges(
    cursor: string | undefined,
  ): Promise<{ readonly cursor: string; readonly jobs: readonly JobChange[] }>

  findNode(address: Address): Promise<Versioned<Node> | undefined>
  /** All nodes whose certificate lasts beyond `now`, by address. */
  listNodes(now: number): Promise<readonly Node[]>

  findClient(address: Address): Promise<Versioned<Client> | undefined>

  /** A node's events by time and id, newest first, from before a position, none of before `since`. */
  listReputationEvents(
    node: Address,
    page: {
      readonly before?: Position | undefined
      readonly since?: number | undefined
      readonly limit: number
    },
  ): Promise<readonly ReputationEvent[]>

  /** The value that has a key at `now`. */
  findKey(key: string, now: number): Promise<string | undefined>
  /** Every key with a prefix that is held at `now`, by key. */
  listKeys(prefix: string, now: number): Promise<readonly HeldKey[]>

  findBlob(cid: string): Promise<Uint8Array<ArrayBuffer> | undefined>
  /** The bytes that the blobs of one kind of uploader take. */
  countBlobBytes(uploader: Uploader): Promise<number>

  stats(): Promise<StoreStats>
  /**
   * Forgets at most `limit` of each: jobs that settled before `settledBefore` and whose effects are all delivered, keys and blobs
   * that expired at `now`. Returns how many went.
   */
  prune(options: {
    readonly now: number
    readonly settledBefore: number
    readonly limit: number
  }): Promise<number>
  /** Forgets a record before its end; false when it is not there, or is a job that has not settled or has effects to deliver. */
  erase(record: Erasable): Promise<boolean>
  /** Everything, for a backup. */
  scan(): AsyncIterable<StoreRecord>
  /** Puts a record of a backup in; false when there is another one in its place. */
  restore(record: StoreRecord): Promise<boolean>
}

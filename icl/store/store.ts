import type { Address, JobId } from '../../lib/codecs.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'
import type { ReputationEvent } from '../rules/reputation.ts'

/** A document with the version that a later save must still find. */
export type Versioned<T> = { readonly document: T; readonly version: number }

/** The slots that take a node's time. */
export type BusySlots = { readonly offered: number; readonly claimed: number }

/**
 * Everything the ICL remembers. Every save is conditional: on the document's absence, or on the version it was read at;
 * a false answer means that somebody else was faster, and nothing was changed. Any method may throw when the database is
 * away. Times are milliseconds.
 */
export interface Store {
  /** True when an acknowledged save survives a crash. */
  readonly durable: boolean
  ping(): Promise<void>

  insertJob(job: Job): Promise<boolean>
  findJob(id: JobId): Promise<Versioned<Job> | undefined>
  replaceJob(job: Job, version: number): Promise<boolean>
  /** Jobs whose `wakeAt` or whose first due effect is at or before `now`, the longest overdue first. */
  listDueJobs(now: number, limit: number): Promise<readonly JobId[]>
  /** Unsettled jobs in which a node has a slot that takes its time (offered or claimed). */
  listJobsOfNode(node: Address): Promise<readonly Job[]>
  /** How many such slots each node has, over all unsettled jobs. */
  countBusySlots(): Promise<ReadonlyMap<Address, BusySlots>>
  countJobsOfClient(client: Address, since: number): Promise<number>
  countUnsettledJobsOfClient(client: Address): Promise<number>

  insertNode(node: Node): Promise<boolean>
  findNode(address: Address): Promise<Versioned<Node> | undefined>
  replaceNode(node: Node, version: number): Promise<boolean>
  /** All nodes whose certificate lasts beyond `now`, by address. */
  listNodes(now: number): Promise<readonly Node[]>

  /** False when an event with this id was recorded before. */
  insertReputationEvent(event: ReputationEvent): Promise<boolean>
  /** A node's events, oldest first. */
  listReputationEvents(node: Address): Promise<readonly ReputationEvent[]>

  /** Gives `key` to `value` until `expiresAt` unless it is taken; answers the value that has it. */
  claimKey(key: string, value: string, expiresAt: number): Promise<string>
  /** The value that has a key now. */
  findKey(key: string): Promise<string | undefined>
}

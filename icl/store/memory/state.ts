import type { Address } from '../../../lib/codecs.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import { isSettled, type Job } from '../../rules/job.ts'
import { indexOfJob } from '../job-index.ts'
import type { DocumentRecord, StoreRecord, VersionedWrite } from '../store.ts'
import { createChanges, createDocuments, createEvents, type Documents } from './collections.ts'
import { createMemoryBlobs, createMemoryKeys, type MemoryBlobs, type MemoryKeys } from './keys.ts'

/** Everything that a store in memory holds, with the indexes of its jobs. */
export type MemoryState = {
  readonly jobs: Documents<Job>
  readonly nodes: Documents<Node>
  readonly clients: Documents<Client>
  /** The ids of jobs that have not settled. */
  readonly open: Set<string>
  /** The ids of jobs in which a node occupies a slot. */
  readonly occupied: Map<Address, Set<string>>
  /** The ids of jobs with effects to deliver. */
  readonly withEffects: Set<string>
  readonly events: ReturnType<typeof createEvents>
  readonly keys: MemoryKeys
  readonly blobs: MemoryBlobs
  readonly changes: ReturnType<typeof createChanges>
}

/** Returns an empty state. */
export const emptyState = (): MemoryState => ({
  jobs: createDocuments(),
  nodes: createDocuments(),
  clients: createDocuments(),
  open: new Set(),
  occupied: new Map(),
  withEffects: new Set(),
  events: createEvents(),
  keys: createMemoryKeys(),
  blobs: createMemoryBlobs(),
  changes: createChanges(),
})

/** Returns the stored document with the id of this one, with its version. */
export function standOf(state: MemoryState, one: VersionedWrite | DocumentRecord) {
  if (one.kind === 'job') return state.jobs.find(one.job.id)
  if (one.kind === 'node') return state.nodes.find(one.node.address)
  return state.clients.find(one.client.address)
}

/** Stores a record, and replaces the one with its id or key. A blob that is there is kept longer. */
export function put(state: MemoryState, record: StoreRecord, writeId?: string): void {
  switch (record.kind) {
    case 'job':
      putJob(state, record.job, record.version, writeId)
      return
    case 'node':
      state.nodes.put(record.node.address, record.node, record.version, writeId)
      return
    case 'client':
      state.clients.put(record.client.address, record.client, record.version, writeId)
      return
    case 'event':
      state.events.put(record.event)
      return
    case 'key':
      state.keys.put(record)
      return
    case 'blob':
      state.blobs.put(record)
      return
  }
}

function putJob(state: MemoryState, job: Job, version: number, writeId?: string): void {
  const { open, withEffects, jobs, changes, occupied } = state
  const nodes = nodesAt(job)
  for (const node of nodesAt(jobs.find(job.id)?.document)) {
    const ids = occupied.get(node)
    if (!nodes.has(node)) ids?.delete(job.id)
    if (ids?.size === 0) occupied.delete(node)
  }
  for (const node of nodes) {
    occupied.set(node, (occupied.get(node) ?? new Set()).add(job.id))
  }
  jobs.put(job.id, job, version, writeId)
  if (isSettled(job.phase)) open.delete(job.id)
  else open.add(job.id)
  if (job.outbox.length === 0) withEffects.delete(job.id)
  else withEffects.add(job.id)
  changes.note(job, version)
}

const nodesAt = (job: Job | undefined): ReadonlySet<Address> =>
  new Set(job ? indexOfJob(job).occupied.map(({ node }) => node) : [])

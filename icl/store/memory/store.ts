import type { Address, JobId } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { JobPhase } from '../../../lib/schemas/jobs.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import { isSettled, type Job } from '../../rules/job.ts'
import { indexOfJob } from '../job-index.ts'
import {
  documentIn,
  type Erasable,
  type JobChange,
  lastingAtOnce,
  type OccupiedSlots,
  type Position,
  type Store,
  type StoreRecord,
  type StoreStats,
  type Versioned,
  type VersionedWrite,
  versionOf,
  type Write,
} from '../store.ts'
import { createMemoryBlobs, createMemoryKeys, type MemoryBlobs, type MemoryKeys } from './keys.ts'

/** A store that lives and dies with its process. */
export type MemoryStore = Store & {
  /** Puts a record in, whatever is in its place: for copies of another store. */
  put(record: StoreRecord): void
  /** Everything in the store as plain data. */
  dump(): unknown
}

type State = {
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

/** Makes an empty store in memory: for development, and for what a database that is away held. */
export function createMemoryStore(): MemoryStore {
  const state: State = {
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
  }
  const { jobs, nodes, clients, events, keys, blobs } = state
  return {
    durable: false,
    shared: false,
    commits: lastingAtOnce,
    status: () => ({
      connected: false,
      writable: true,
      reasons: ['the store is in memory: a restart forgets everything'],
    }),
    ping: async () => {},
    close: async () => {},
    save: async (write, writeId) => saveAll(state, [write], writeId) === undefined,
    saveAll: async (writes, writeId) => saveAll(state, writes, writeId),
    ...jobReads(state),
    ...otherReads(state),
    prune: async (options) => prune(state, options),
    erase: async (record) => erase(state, record),
    scan: () => scan(state),
    put: (record) => put(state, record),
    restore: async (record) => {
      if (isThere(state, record)) return false
      put(state, record)
      return true
    },
    dump: () => ({
      jobs: jobs.all(),
      nodes: nodes.all(),
      clients: clients.all(),
      events: events.all(),
      keys: keys.all(),
      blobs: blobs.all(),
    }),
  }
}

function saveAll(state: State, writes: readonly Write[], writeId?: string): Write | undefined {
  const document = documentIn(writes)
  if (writeId !== undefined && document && standOf(state, document)?.writeId === writeId) {
    return undefined
  }
  const refused = writes.find((write) => !isAcceptable(state, write))
  if (refused) return refused
  for (const write of writes) apply(state, write, writeId)
  return undefined
}

function standOf(state: State, write: VersionedWrite) {
  if (write.kind === 'job') return state.jobs.find(write.job.id)
  if (write.kind === 'node') return state.nodes.find(write.node.address)
  return state.clients.find(write.client.address)
}

function isAcceptable(state: State, write: Write): boolean {
  switch (write.kind) {
    case 'job':
    case 'node':
    case 'client':
      return (standOf(state, write)?.version ?? 0) === write.base
    case 'event':
      return !state.events.has(write.event.id)
    case 'key':
    case 'release-key':
      return state.keys.isAcceptable(write)
    case 'blob':
      return true
    case 'keep-blob':
      return write.mayBeAbsent === true || state.blobs.find(write.cid) !== undefined
  }
}

function apply(state: State, write: Write, writeId: string | undefined): void {
  switch (write.kind) {
    case 'job':
      putJob(state, write.job, versionOf(write), writeId)
      return
    case 'node':
      state.nodes.put(write.node.address, write.node, versionOf(write), writeId)
      return
    case 'client':
      state.clients.put(write.client.address, write.client, versionOf(write), writeId)
      return
    case 'event':
      state.events.put(write.event)
      return
    case 'key':
      state.keys.put(write)
      return
    case 'release-key':
      state.keys.remove(write.key)
      return
    case 'blob':
    case 'keep-blob':
      state.blobs.put(write)
      return
  }
}

function putJob(state: State, job: Job, version: number, writeId?: string): void {
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

function put(state: State, record: StoreRecord): void {
  switch (record.kind) {
    case 'job':
      putJob(state, record.job, record.version)
      return
    case 'node':
      state.nodes.put(record.node.address, record.node, record.version)
      return
    case 'client':
      state.clients.put(record.client.address, record.client, record.version)
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

function isThere(state: State, record: StoreRecord): boolean {
  switch (record.kind) {
    case 'job':
      return state.jobs.find(record.job.id) !== undefined
    case 'node':
      return state.nodes.find(record.node.address) !== undefined
    case 'client':
      return state.clients.find(record.client.address) !== undefined
    case 'event':
      return state.events.has(record.event.id)
    case 'key':
      return state.keys.has(record.key)
    case 'blob':
      return state.blobs.find(record.cid) !== undefined
  }
}

async function* scan(state: State): AsyncGenerator<StoreRecord> {
  const { jobs, nodes, clients, events, keys, blobs } = state
  for (const { document, version } of jobs.entries()) {
    yield { kind: 'job', job: document, version }
  }
  for (const { document, version } of nodes.entries()) {
    yield { kind: 'node', node: document, version }
  }
  for (const { document, version } of clients.entries()) {
    yield { kind: 'client', client: document, version }
  }
  for (const event of events.all()) yield { kind: 'event', event }
  for (const held of keys.all()) yield { kind: 'key', ...held }
  for (const blob of blobs.all()) yield { kind: 'blob', ...blob }
}

function prune(
  { jobs, keys, blobs }: State,
  { now, settledBefore, limit }: Parameters<Store['prune']>[0],
): number {
  const old = jobs
    .all()
    .filter((job) => (indexOfJob(job).settledAt ?? settledBefore) < settledBefore)
    .filter(({ outbox }) => outbox.length === 0)
    .slice(0, limit)
  for (const { id } of old) jobs.remove(id)
  return old.length + keys.prune(now, limit) + blobs.prune(now, limit)
}

function erase({ jobs, clients, blobs }: State, record: Erasable): boolean {
  if (record.kind === 'client') return clients.remove(record.address)
  if (record.kind === 'blob') return blobs.remove(record.cid)
  const job = jobs.find(record.id)?.document
  return job !== undefined && isSettled(job.phase) && job.outbox.length === 0 && jobs.remove(job.id)
}

function jobReads({ jobs, open, occupied, withEffects, changes }: State) {
  const documentsOf = (ids: ReadonlySet<string>) =>
    [...ids].flatMap((id) => jobs.find(id)?.document ?? [])
  const openJobs = () => documentsOf(open)
  const jobsOf = (client: Address) => jobs.all().filter((job) => job.client === client)
  return {
    findJob: async (id) => jobs.find(id),
    listDueTicks: async (now, limit) => listDue(openJobs(), now, limit, 'tickAt'),
    listDueEffects: async (now, limit) =>
      listDue(documentsOf(withEffects), now, limit, 'effectsDueAt'),
    listJobsWithEffects: async (after, limit) =>
      documentsOf(withEffects)
        .map(({ id }) => id)
        .filter((id) => id > (after ?? ''))
        .sort()
        .slice(0, limit),
    listJobsOfNode: async (node) => documentsOf(occupied.get(node) ?? new Set()),
    countOccupiedSlots: async () => countOccupiedSlots(openJobs()),
    listJobsOfClient: async (client, page) => pageOf(jobsOf(client), page),
    listJobs: async (page) => pageOf(jobs.all(), page),
    countJobsOfClient: async (client, since) =>
      jobsOf(client).filter(({ createdAt }) => createdAt >= since).length,
    countUnsettledJobsOfClient: async (client) =>
      openJobs().filter((job) => job.client === client).length,
    listJobOrigins: async (after, limit) =>
      jobs
        .all()
        .filter(({ id }) => id > (after ?? ''))
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit)
        .map(({ id, client, createdAt }) => ({ id, client, createdAt })),
    listChanges: async (cursor) => changes.since(cursor),
    stats: async () => statsOf(jobs.all()),
  } satisfies Partial<Store>
}

function otherReads({ nodes, clients, events, keys, blobs }: State) {
  return {
    findNode: async (address) => nodes.find(address),
    listNodes: async (now) =>
      nodes
        .all()
        .filter(({ certificate }) => certificate.expiresAt > now)
        .sort((a, b) => (a.address < b.address ? -1 : 1)),
    findClient: async (address) => clients.find(address),
    listClients: async (after, limit) =>
      [...clients.entries()]
        .filter(({ document }) => document.address > (after ?? ''))
        .sort((a, b) => (a.document.address < b.document.address ? -1 : 1))
        .slice(0, limit),
    listReputationEvents: async (node) => events.of(node).toSorted(byTime),
    pageReputationEvents: async (node, { before, since = 0, limit }) =>
      events
        .of(node)
        .filter((event) => event.at >= since && isBefore(event, before))
        .sort((a, b) => byTime(b, a))
        .slice(0, limit),
    findKey: async (key, now) => keys.find(key, now),
    listKeys: async (prefix, now) => keys.list(prefix, now),
    findBlob: async (cid) => blobs.find(cid),
    countBlobBytes: async (uploader) => blobs.count(uploader),
  } satisfies Partial<Store>
}

const positionOf = ({ createdAt, id }: Job): Position => ({ at: createdAt, id })

/** Orders by time, then by id. */
const byTime = (a: Position, b: Position): number =>
  a.at - b.at || (a.id < b.id ? -1 : Number(a.id > b.id))

/** The newest of some jobs from before a position. */
const pageOf = (
  jobs: readonly Job[],
  { phase, before, limit }: Parameters<Store['listJobs']>[0],
): readonly Job[] =>
  jobs
    .filter((job) => phase === undefined || job.phase === phase)
    .filter((job) => isBefore(positionOf(job), before))
    .sort((a, b) => byTime(positionOf(b), positionOf(a)))
    .slice(0, limit)

const isBefore = (position: Position, limit: Position | undefined): boolean =>
  limit === undefined || byTime(position, limit) < 0

function listDue(
  jobs: readonly Job[],
  now: number,
  limit: number,
  field: 'tickAt' | 'effectsDueAt',
): readonly JobId[] {
  return jobs
    .map((job) => ({ id: job.id, dueAt: indexOfJob(job)[field] ?? Number.POSITIVE_INFINITY }))
    .filter((job) => job.dueAt <= now)
    .sort((a, b) => a.dueAt - b.dueAt)
    .slice(0, limit)
    .map(({ id }) => id)
}

function countOccupiedSlots(jobs: readonly Job[]): ReadonlyMap<Address, OccupiedSlots> {
  const counts = new Map<Address, OccupiedSlots>()
  for (const { node, status } of jobs.flatMap((job) => indexOfJob(job).occupied)) {
    const known = counts.get(node) ?? { offered: 0, claimed: 0 }
    counts.set(node, { ...known, [status]: known[status] + 1 })
  }
  return counts
}

function statsOf(jobs: readonly Job[]): StoreStats {
  const jobsByPhase: Partial<Record<JobPhase, number>> = {}
  for (const { phase } of jobs) jobsByPhase[phase] = (jobsByPhase[phase] ?? 0) + 1
  const due = jobs.flatMap(({ outbox }) => outbox.map(({ dueAt }) => dueAt))
  return {
    jobsByPhase,
    effects: due.length,
    oldestEffectDueAt: due.length > 0 ? Math.min(...due) : undefined,
  }
}

type Documents<T> = ReturnType<typeof createDocuments<T>>

/** Versioned documents by id. Jobs, nodes and clients are never changed in place, so they need no copies. */
function createDocuments<T>() {
  type Entry = Versioned<T> & { readonly writeId: string | undefined }
  const documents = new Map<string, Entry>()
  return {
    find: (id: string): Entry | undefined => documents.get(id),
    put: (id: string, document: T, version: number, writeId?: string): void => {
      documents.set(id, { document, version, writeId })
    },
    remove: (id: string) => documents.delete(id),
    entries: (): Iterable<Versioned<T>> => documents.values(),
    /** Every document; not to be changed. */
    all: (): T[] => [...documents.values()].map(({ document }) => document),
  }
}

/** Events by id, and by their node. */
function createEvents() {
  const events = new Map<string, ReputationEvent>()
  const idsByNode = new Map<Address, Set<string>>()
  return {
    has: (id: string): boolean => events.has(id),
    put: (event: ReputationEvent): void => {
      const known = events.get(event.id)
      if (known) idsByNode.get(known.node)?.delete(known.id)
      events.set(event.id, event)
      const ids = idsByNode.get(event.node) ?? new Set()
      idsByNode.set(event.node, ids.add(event.id))
    },
    of: (node: Address): readonly ReputationEvent[] =>
      [...(idsByNode.get(node) ?? [])].flatMap((id) => events.get(id) ?? []),
    all: (): readonly ReputationEvent[] => [...events.values()],
  }
}

const keptChanges = 10_000

/** The last changes, each with its number. */
function createChanges() {
  let changes: JobChange[] = []
  let first = 0
  return {
    note: (job: Job, version: number): void => {
      const offeredTo = indexOfJob(job).occupied.flatMap(({ node, status }) =>
        status === 'offered' ? [node] : [],
      )
      changes.push({ id: job.id, version, offeredTo })
      if (changes.length <= 2 * keptChanges) return
      first += changes.length - keptChanges
      changes = changes.slice(-keptChanges)
    },
    since: (cursor: string | undefined) => ({
      cursor: String(first + changes.length),
      jobs: cursor === undefined ? [] : changes.slice(Math.max(Number(cursor) - first, 0)),
    }),
  }
}

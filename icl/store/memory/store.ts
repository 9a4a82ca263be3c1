import { isSettled } from '../../rules/job.ts'
import { indexOfJob } from '../job-index.ts'
import {
  documentIn,
  type Erasable,
  lastingAtOnce,
  type Store,
  type StoreRecord,
  versionOf,
  type Write,
} from '../store.ts'
import { createMemoryReads } from './reads.ts'
import { emptyState, type MemoryState, put, standOf } from './state.ts'

/** A store that ends with its process. */
export type MemoryStore = Store & {
  /** Stores a record, and replaces the one with its id or key. */
  put(record: StoreRecord): void
  /** Returns everything in the store as plain data. */
  dump(): unknown
}

/** Creates an empty store in memory, for development and tests. */
export function createMemoryStore(): MemoryStore {
  const state = emptyState()
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
    ...createMemoryReads(state),
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

function saveAll(
  state: MemoryState,
  writes: readonly Write[],
  writeId?: string,
): Write | undefined {
  const document = documentIn(writes)
  if (writeId !== undefined && document && standOf(state, document)?.writeId === writeId) {
    return undefined
  }
  const refused = writes.find((write) => !isAcceptable(state, write))
  if (refused) return refused
  for (const write of writes) apply(state, write, writeId)
  return undefined
}

function isAcceptable(state: MemoryState, write: Write): boolean {
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

function apply(state: MemoryState, write: Write, writeId: string | undefined): void {
  if ('base' in write) put(state, { ...write, version: versionOf(write) }, writeId)
  else if (write.kind === 'release-key') state.keys.remove(write.key)
  else if (write.kind === 'keep-blob') state.blobs.put(write)
  else put(state, write)
}

function isThere(state: MemoryState, record: StoreRecord): boolean {
  if ('version' in record) return standOf(state, record) !== undefined
  if (record.kind === 'event') return state.events.has(record.event.id)
  return record.kind === 'key'
    ? state.keys.has(record.key)
    : state.blobs.find(record.cid) !== undefined
}

async function* scan(state: MemoryState): AsyncGenerator<StoreRecord> {
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
  { jobs, keys, blobs }: MemoryState,
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

function erase({ jobs, clients, blobs }: MemoryState, record: Erasable): boolean {
  if (record.kind === 'client') return clients.remove(record.address)
  if (record.kind === 'blob') return blobs.remove(record.cid)
  const job = jobs.find(record.id)?.document
  return job !== undefined && isSettled(job.phase) && job.outbox.length === 0 && jobs.remove(job.id)
}

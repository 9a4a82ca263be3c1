import {
  documentIn,
  type Erasable,
  firstToFree,
  idOf,
  lastingAtOnce,
  longerKeep,
  mostDropped,
  recordBy,
  type Store,
  sizeOf,
  type Write,
} from '../store.ts'
import { createMemoryReads } from './reads.ts'
import { emptyState, type MemoryState, put, removeJob, removeKey } from './state.ts'

/** Creates an empty store in memory, which ends with its process, for development and tests, or when the disk is out of reach (`why`). */
export function createMemoryStore(why?: string): Store {
  const state = emptyState()
  return {
    durable: false,
    shared: false,
    commits: lastingAtOnce,
    status: () => ({
      connected: false,
      writable: true,
      reasons: [
        `the store is in memory: a restart forgets everything${why === undefined ? '' : ` (${why})`}`,
      ],
    }),
    ping: async () => {},
    close: async () => {},
    save: async (write) => saveAll(state, [write]) === undefined,
    saveAll: async (writes) => saveAll(state, writes),
    ...createMemoryReads(state),
    prune: async (options) => prune(state, options),
    dropBlobs: async (uploader, bytes, now) => {
      const { blob: blobs } = state.records
      const list = [...blobs.values()]
        .filter((blob) => blob.uploader === uploader && (blob.usedUntil ?? 0) <= now)
        .toSorted(
          (a, b) =>
            Number(a.isAnswered ?? false) - Number(b.isAnswered ?? false) ||
            (a.usedUntil ?? 0) - (b.usedUntil ?? 0),
        )
        .slice(0, mostDropped)
        .map((blob) => ({ cid: blob.cid, size: sizeOf(blob) }))
      const dropped = firstToFree(list, bytes)
      for (const { cid } of dropped) blobs.delete(cid)
      return dropped
    },
    erase: async (record) => erase(state, record),
    async *scan() {
      for (const records of Object.values(state.records)) yield* records.values()
    },
    restore: async (record) => {
      if (state.records[record.kind].has(idOf(record))) return false
      put(state, record)
      return true
    },
  }
}

function saveAll(state: MemoryState, writes: readonly Write[]): Write | undefined {
  // Throws for two.
  documentIn(writes)
  const refused = writes.find((write) => !isAcceptable(state, write))
  if (refused) return refused
  for (const write of writes) apply(state, write)
  return undefined
}

function isAcceptable({ records }: MemoryState, write: Write): boolean {
  switch (write.kind) {
    case 'job':
    case 'node':
    case 'client':
      return (records[write.kind].get(idOf(write))?.version ?? 0) === write.base
    case 'event':
      return !records.event.has(write.event.id)
    case 'key': {
      const held = records.key.get(write.key)
      if (held === undefined || held.expiresAt <= write.now) return true
      return held.value === write.value || held.value === write.insteadOf
    }
    case 'release-key':
      return records.key.get(write.key)?.value === write.value
    case 'blob':
      return true
    case 'keep-blob':
      return write.mayBeAbsent === true || records.blob.has(write.cid)
  }
}

function apply(state: MemoryState, write: Write): void {
  const { blob: blobs } = state.records
  if ('base' in write) put(state, recordBy(write))
  else if (write.kind === 'event') put(state, write)
  else if (write.kind === 'release-key') removeKey(state, write.key)
  else if (write.kind === 'key') {
    const { kind, key, value, expiresAt } = write
    put(state, { kind, key, value, expiresAt })
  } else {
    const known = blobs.get(write.cid)
    if (known) put(state, { ...known, ...longerKeep(known, write) })
    else if (write.kind === 'blob') put(state, write)
  }
}

function prune(
  state: MemoryState,
  { now, settledBefore, limit }: Parameters<Store['prune']>[0],
): number {
  const { key, blob } = state.records
  const keys = [...key.values()].filter(({ expiresAt }) => expiresAt <= now).slice(0, limit)
  const blobs = [...blob.values()].filter(({ until }) => until <= now).slice(0, limit)
  const jobs = [...state.indexes.values()]
    .filter(({ effects, settledAt = settledBefore }) => effects === 0 && settledAt < settledBefore)
    .slice(0, limit)
  for (const held of keys) removeKey(state, held.key)
  for (const { cid } of blobs) blob.delete(cid)
  for (const { id } of jobs) removeJob(state, id)
  return keys.length + blobs.length + jobs.length
}

function erase(state: MemoryState, record: Erasable): boolean {
  const { records, indexes } = state
  if (record.kind === 'client') return records.client.delete(record.address)
  if (record.kind === 'blob') return records.blob.delete(record.cid)
  const job = indexes.get(record.id)
  if (job?.settledAt === undefined || job.effects > 0) return false
  removeJob(state, job.id)
  return true
}

import type { Address, JobId } from '../../lib/codecs.ts'
import type { MirrorRecord } from './journal.ts'
import { createMemoryStore, type MemoryStore } from './memory.ts'
import type { JobOrigin, StoreRecord, Write } from './store.ts'

/** The writes whose outcome is in the mirror. */
type MirroredWrite = Extract<Write, { kind: 'job' | 'node' | 'client' | 'key' | 'release-key' }>

type Versioned = Extract<StoreRecord, { kind: 'job' | 'node' | 'client' }>

/** What the ICL holds in memory of its database: open jobs, nodes, clients, keys, and which other jobs there are. */
export type Mirror = {
  readonly memory: MemoryStore
  /** Every job that there is, also those that are not held. */
  readonly origins: Origins
  /** Puts in what the database holds, unless something newer is there. */
  put(record: MirrorRecord): Promise<void>
  /** Puts in what was saved. */
  note(write: MirroredWrite, id: string): Promise<void>
  /** Whether a write would be taken now, or was taken before; undefined when what it is about is not held. */
  wouldAccept(write: MirroredWrite, id: string): Promise<'take' | 'taken' | 'refuse' | undefined>
  held(): AsyncIterable<MirrorRecord>
}

/** Makes an empty mirror. */
export function createMirror(): Mirror {
  const memory = createMemoryStore()
  const origins = createOrigins()
  const find = (record: Versioned | Extract<MirroredWrite, { base: number }>) => {
    if (record.kind === 'job') return memory.findJob(record.job.id)
    if (record.kind === 'node') return memory.findNode(record.node.address)
    return memory.findClient(record.client.address)
  }
  const versionOf = async (record: Versioned | Extract<MirroredWrite, { base: number }>) => {
    return (await find(record))?.version ?? 0
  }
  const putNewer = async (record: Versioned) => {
    if ((await versionOf(record)) < record.version) memory.put(record)
    if (record.kind === 'job') origins.add(record.job)
  }
  const noteOrigin = (write: MirroredWrite) => {
    if (write.kind === 'job') origins.add(write.job)
  }
  /** Leaves a mark that nobody sees, until it is pruned: an older reading of the database must not put the key in again. */
  const noteRelease = async ({ key, value }: Extract<Write, { kind: 'release-key' }>) => {
    const holder = await memory.findKey(key, Number.NEGATIVE_INFINITY)
    if (holder !== undefined && holder !== value) return
    memory.put({ kind: 'key', key, value: '', expiresAt: Number.MIN_SAFE_INTEGER })
  }
  const isElsewhere = (write: MirroredWrite) => write.kind === 'job' && origins.has(write.job.id)
  const put = async (record: MirrorRecord) => {
    if (record.kind === 'job-origin') origins.add(record)
    else if (record.kind === 'key') memory.put(record)
    else await putNewer(record)
  }
  return {
    memory,
    origins,
    put,
    note: async (write, id) => {
      if (write.kind === 'key') memory.put(write)
      else if (write.kind === 'release-key') await noteRelease(write)
      else if (await memory.save(write, id)) noteOrigin(write)
      else await putNewer({ ...write, version: write.base + 1 })
    },
    wouldAccept: async (write, id) => {
      switch (write.kind) {
        case 'job':
        case 'node':
        case 'client': {
          const version = await versionOf(write)
          if (version === write.base)
            return write.base > 0 || !isElsewhere(write) ? 'take' : 'refuse'
          if (version === 0) return isElsewhere(write) ? undefined : 'refuse'
          // At another version the memory saves nothing; it says whether it was this very save that made it.
          return (await memory.save(write, id)) ? 'taken' : 'refuse'
        }
        case 'key': {
          const holder = await memory.findKey(write.key, write.now)
          const isFree = [undefined, write.value, write.insteadOf].includes(holder)
          return isFree ? 'take' : 'refuse'
        }
        case 'release-key': {
          const holder = await memory.findKey(write.key, Number.NEGATIVE_INFINITY)
          return holder === write.value ? 'take' : 'refuse'
        }
      }
    },
    held: () => heldBy(memory, origins),
  }
}

async function* heldBy(memory: MemoryStore, origins: Origins): AsyncGenerator<MirrorRecord> {
  for await (const record of memory.scan()) {
    if (record.kind !== 'event' && record.kind !== 'blob') yield record
  }
  for (const origin of origins.all()) yield { kind: 'job-origin', ...origin }
}

/** Whose every job is and when it came, without the jobs. */
function createOrigins() {
  const clients = new Map<JobId, Address>()
  const jobs = new Map<Address, Map<JobId, number>>()
  return {
    add: ({ id, client, createdAt }: JobOrigin): void => {
      clients.set(id, client)
      const known = jobs.get(client) ?? new Map<JobId, number>()
      jobs.set(client, known.set(id, createdAt))
    },
    has: (id: JobId): boolean => clients.has(id),
    of: (client: Address): ReadonlyMap<JobId, number> => jobs.get(client) ?? new Map(),
    all: function* (): Generator<JobOrigin> {
      for (const [client, known] of jobs) {
        for (const [id, createdAt] of known) yield { id, client, createdAt }
      }
    },
    /** Forgets jobs that came before `createdBefore`. */
    forget: (createdBefore: number): void => {
      for (const [client, known] of jobs) {
        for (const [id, createdAt] of known) {
          if (createdAt >= createdBefore) continue
          known.delete(id)
          clients.delete(id)
        }
        if (known.size === 0) jobs.delete(client)
      }
    },
  }
}

type Origins = ReturnType<typeof createOrigins>

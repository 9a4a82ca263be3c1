import type { Address } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { Job } from '../../rules/job.ts'
import { indexOfJob, offeredIn } from '../job-index.ts'
import type { JobChange, Versioned } from '../store.ts'

export type Documents<T> = ReturnType<typeof createDocuments<T>>

/** Creates a map of versioned documents by id. Documents are never changed in place, so it returns them without a copy. */
export function createDocuments<T>() {
  type Entry = Versioned<T> & { readonly writeId: string | undefined }
  const documents = new Map<string, Entry>()
  return {
    find: (id: string): Entry | undefined => documents.get(id),
    put: (id: string, document: T, version: number, writeId?: string): void => {
      documents.set(id, { document, version, writeId })
    },
    remove: (id: string) => documents.delete(id),
    entries: (): Iterable<Versioned<T>> => documents.values(),
    /** Returns every document; callers must not change them. */
    all: (): T[] => [...documents.values()].map(({ document }) => document),
  }
}

/** Creates an index of events by id and by node. */
export function createEvents() {
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

/** Creates a log of the last 10,000 changes at least, numbered from 0. A cursor before them skips what was dropped. */
export function createChanges() {
  let changes: JobChange[] = []
  let first = 0
  return {
    note: (job: Job, version: number): void => {
      changes.push({ id: job.id, version, offeredTo: offeredIn(indexOfJob(job).occupied) })
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

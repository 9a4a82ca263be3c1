import type { Address } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import { isSettled, type Job } from '../../rules/job.ts'
import { indexOfJob, offeredIn } from '../job-index.ts'
import { idOf, type JobChange, type Position, type StoreRecord } from '../store.ts'

type RecordsOf<Kind extends StoreRecord['kind']> = Map<string, Extract<StoreRecord, { kind: Kind }>>

/** Returns an empty state. Records are never changed in place, so reads return them without a copy. */
export const emptyState = () => ({
  /** All records, by kind and id. */
  records: {
    job: new Map() as RecordsOf<'job'>,
    node: new Map() as RecordsOf<'node'>,
    client: new Map() as RecordsOf<'client'>,
    event: new Map() as RecordsOf<'event'>,
    key: new Map() as RecordsOf<'key'>,
    blob: new Map() as RecordsOf<'blob'>,
  },
  /** Jobs that have not settled, or have effects to deliver. */
  active: new Map<string, Job>(),
  /** The jobs in which a node occupies a slot. Every poll asks for those of its node. */
  occupied: new Map<Address, Map<string, Job>>(),
  /** The keys by what comes before their first colon: most are nonces, and nothing lists those. */
  keysByKind: new Map<string, RecordsOf<'key'>>(),
  /** In order of time, then of id. */
  eventsByNode: new Map<Address, ReputationEvent[]>(),
  changes: createChanges(),
})

/** Everything that a store in memory holds. */
export type MemoryState = ReturnType<typeof emptyState>

/** Orders by time, then by id. */
export const byTime = (a: Position, b: Position): number =>
  a.at - b.at || (a.id < b.id ? -1 : Number(a.id > b.id))

/** Stores a record, and replaces the one with its id. */
export function put(state: MemoryState, record: StoreRecord): void {
  const { records, active, eventsByNode, changes } = state
  if (record.kind === 'job') occupy(state, record.job)
  const ofKind: Map<string, StoreRecord> = records[record.kind]
  ofKind.set(idOf(record), record)
  if (record.kind === 'key') {
    const kind = kindOfKey(record.key)
    const keys = state.keysByKind.get(kind) ?? new Map()
    state.keysByKind.set(kind, keys.set(record.key, record))
  }
  if (record.kind === 'event') {
    const { event } = record
    const known = eventsByNode.get(event.node) ?? []
    // Almost all come in order.
    const earlier = known.findLastIndex((each) => byTime(each, event) < 0)
    known.splice(earlier + 1, 0, event)
    eventsByNode.set(event.node, known)
  }
  if (record.kind === 'job') {
    const { job, version } = record
    if (isSettled(job.phase) && job.outbox.length === 0) active.delete(job.id)
    else active.set(job.id, job)
    changes.note(job, version)
  }
}

/** Deletes a key. */
export function removeKey({ records, keysByKind }: MemoryState, key: string): void {
  records.key.delete(key)
  keysByKind.get(kindOfKey(key))?.delete(key)
}

/** Returns every key with a prefix. */
export const keysWith = ({ keysByKind }: MemoryState, prefix: string) =>
  [...keysByKind]
    .filter(([kind]) =>
      prefix.includes(':') ? kind === kindOfKey(prefix) : kind.startsWith(prefix),
    )
    .flatMap(([, keys]) => [...keys.values()])
    .filter(({ key }) => key.startsWith(prefix))

function kindOfKey(key: string): string {
  const [kind = key] = key.split(':', 1)
  return kind
}

/** Replaces a job in the slots of nodes; a settled job occupies none. */
function occupy({ records, occupied }: MemoryState, job: Job): void {
  const former = records.job.get(job.id)?.job
  for (const { node } of former ? indexOfJob(former).occupied : []) {
    const jobs = occupied.get(node)
    jobs?.delete(job.id)
    if (jobs?.size === 0) occupied.delete(node)
  }
  for (const { node } of indexOfJob(job).occupied) {
    const jobs = occupied.get(node) ?? new Map<string, Job>()
    occupied.set(node, jobs.set(job.id, job))
  }
}

const keptChanges = 10_000

/** Creates a log of the last 10,000 changes at least, numbered from 0. A cursor before them skips what was dropped. */
function createChanges() {
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

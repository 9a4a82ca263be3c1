import type { Address, JobId } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { JobPhase } from '../../../lib/schemas/jobs.ts'
import { createCounts } from '../../async/counts.ts'
import { byTime, createDueList, type DueList } from '../../async/due-list.ts'
import { isSettled, type Job } from '../../rules/job.ts'
import { decodeDocument, encodeDocument } from '../encoding.ts'
import { indexOfJob, type JobIndex, offeredIn } from '../job-index.ts'
import { idOf, type JobChange, type StoreRecord } from '../store.ts'

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
  /** What jobs are found by. */
  indexes: new Map<string, JobIndex & { readonly id: JobId }>(),
  /** The jobs with a time at which they are due. */
  due: { tick: createDueList(), effect: createDueList() },
  /** All jobs by the time of their creation, and those of each client. */
  created: { all: createDueList(), byClient: new Map<Address, DueList>() },
  /** How many jobs of a client have not settled. */
  unsettled: createCounts<Address>(),
  /** How many jobs are in each phase, and how many effects are to be delivered. */
  phases: createCounts<JobPhase>(),
  totals: { effects: 0 },
  /** The jobs in which a node occupies a slot. Every poll asks for those of its node. */
  occupied: new Map<Address, Map<string, Job>>(),
  /** The keys by what they are listed by. */
  keysByGroup: new Map<string, RecordsOf<'key'>>(),
  /** In order of time, then of id. */
  eventsByNode: new Map<Address, ReputationEvent[]>(),
  changes: createChanges(),
})

/** Everything that a store in memory holds. */
export type MemoryState = ReturnType<typeof emptyState>

/** Stores a record, and replaces the one with its id. */
export function put(state: MemoryState, record: StoreRecord): void {
  const { eventsByNode } = state
  if (record.kind === 'job') index(state, record)
  const ofKind: Map<string, StoreRecord> = state.records[record.kind]
  ofKind.set(idOf(record), record.kind === 'job' ? keptJob(record) : record)
  if (record.kind === 'key') {
    const group = groupOfKey(record.key)
    const keys = state.keysByGroup.get(group) ?? new Map()
    state.keysByGroup.set(group, keys.set(record.key, record))
  }
  if (record.kind === 'event') {
    const { event } = record
    const known = eventsByNode.get(event.node) ?? []
    // Almost all come in order.
    const earlier = known.findLastIndex((each) => byTime(each, event) < 0)
    known.splice(earlier + 1, 0, event)
    eventsByNode.set(event.node, known)
  }
}

/** Deletes a job. */
export function removeJob(state: MemoryState, id: JobId): void {
  setIndex(state, id, undefined)
  state.records.job.delete(id)
}

/** Deletes a key. */
export function removeKey({ records, keysByGroup }: MemoryState, key: string): void {
  records.key.delete(key)
  const group = groupOfKey(key)
  const keys = keysByGroup.get(group)
  keys?.delete(key)
  if (keys?.size === 0) keysByGroup.delete(group)
}

/** Returns every key with a prefix. */
export function keysWith({ keysByGroup }: MemoryState, prefix: string) {
  const group = groupOfKey(prefix)
  const groups = prefix.startsWith(`${group}:`)
    ? [keysByGroup.get(group)]
    : [...keysByGroup].map(([name, keys]) =>
        name.startsWith(prefix) || prefix.startsWith(name) ? keys : undefined,
      )
  return groups
    .flatMap((keys) => [...(keys?.values() ?? [])])
    .filter(({ key }) => key.startsWith(prefix))
}

/** Returns what a key is listed by: its kind, and of kinds with many keys also the part after it. */
function groupOfKey(key: string): string {
  const [kind = key, first = ''] = key.split(':', 2)
  return kind === 'running' || kind === 'pool' ? `${kind}:${first}` : kind
}

type JobRecord = Extract<StoreRecord, { kind: 'job' }>

/** A job that is over is kept as text, because the collector walks through every object again and again. */
function keptJob(record: JobRecord): JobRecord {
  const { kind, job, version } = record
  if (!isSettled(job.phase) || job.outbox.length > 0) return record
  const text = encodeDocument(job)
  return {
    kind,
    version,
    get job() {
      return decodeDocument<Job>(text)
    },
  }
}

function index(state: MemoryState, { job, version }: JobRecord): void {
  const { occupied, changes } = state
  const now = indexOfJob(job)
  setIndex(state, job.id, now)
  for (const { node } of now.occupied) {
    const jobs = occupied.get(node) ?? new Map<string, Job>()
    occupied.set(node, jobs.set(job.id, job))
  }
  changes.note(job, version)
}

/** Replaces what a job is found by, and takes it out of the slots of nodes. */
function setIndex(state: MemoryState, id: JobId, now: JobIndex | undefined): void {
  const { indexes, due, created, occupied } = state
  const former = indexes.get(id)
  for (const { node } of former?.occupied ?? []) {
    const jobs = occupied.get(node)
    jobs?.delete(id)
    if (jobs?.size === 0) occupied.delete(node)
  }
  if (now) indexes.set(id, { ...now, id })
  else indexes.delete(id)
  due.tick.set(id, now?.tickAt)
  due.effect.set(id, now?.effectsDueAt)
  count(state, former, -1)
  count(state, now, 1)
  const client = (now ?? former)?.client
  if (client === undefined) return
  const own = created.byClient.get(client) ?? createDueList()
  for (const list of [created.all, own]) list.set(id, now?.createdAt)
  if (own.size > 0) created.byClient.set(client, own)
  else created.byClient.delete(client)
}

function count(
  { unsettled, phases, totals }: MemoryState,
  index: JobIndex | undefined,
  change: 1 | -1,
): void {
  if (!index) return
  phases.add(index.phase, change)
  totals.effects += change * index.effects
  if (!isSettled(index.phase)) unsettled.add(index.client, change)
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

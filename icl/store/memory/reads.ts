import type { Address } from '../../../lib/codecs.ts'
import type { JobPhase } from '../../../lib/schemas/jobs.ts'
import type { Job } from '../../rules/job.ts'
import { countSlots, indexOfJob } from '../job-index.ts'
import type { Position, Store, StoreStats } from '../store.ts'
import type { MemoryState } from './state.ts'

/** Every read of the store. */
export const createMemoryReads = (state: MemoryState) => ({
  ...jobReads(state),
  ...otherReads(state),
})

function jobReads({ jobs, open, occupied, withEffects, changes }: MemoryState) {
  const documentsOf = (ids: ReadonlySet<string>) =>
    [...ids].flatMap((id) => jobs.find(id)?.document ?? [])
  const openJobs = () => documentsOf(open)
  const jobsOf = (client: Address) => jobs.all().filter((job) => job.client === client)
  return {
    findJob: async (id) => jobs.find(id),
    listDue: async (what, now, limit) =>
      (what === 'tick' ? openJobs() : documentsOf(withEffects))
        .map((job) => ({ id: job.id, at: dueAt(job, what) }))
        .filter(({ at }) => at <= now)
        .sort(byTime)
        .slice(0, limit)
        .map(({ id }) => id),
    listJobsOfNode: async (node) => documentsOf(occupied.get(node) ?? new Set()),
    countOccupiedSlots: async () =>
      countSlots(openJobs().flatMap((job) => indexOfJob(job).occupied)),
    listJobs: async ({ client, ...page }) => pageOf(client ? jobsOf(client) : jobs.all(), page),
    countJobsOfClient: async (client, which) =>
      which === 'unsettled'
        ? openJobs().filter((job) => job.client === client).length
        : jobsOf(client).filter(({ createdAt }) => createdAt >= which.since).length,
    listChanges: async (cursor) => changes.since(cursor),
    stats: async () => statsOf(jobs.all()),
  } satisfies Partial<Store>
}

function otherReads({ nodes, clients, events, keys, blobs }: MemoryState) {
  return {
    findNode: async (address) => nodes.find(address),
    listNodes: async (now) =>
      nodes
        .all()
        .filter(({ certificate }) => certificate.expiresAt > now)
        .sort((a, b) => (a.address < b.address ? -1 : 1)),
    findClient: async (address) => clients.find(address),
    listReputationEvents: async (node, { before, since = 0, limit }) =>
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

/** Returns a page of jobs before a position, newest first. */
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

const dueAt = (job: Job, what: 'tick' | 'effect'): number =>
  indexOfJob(job)[what === 'tick' ? 'tickAt' : 'effectsDueAt'] ?? Number.POSITIVE_INFINITY

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

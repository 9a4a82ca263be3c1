import type { JobPhase } from '../../../lib/schemas/jobs.ts'
import { isSettled, type Job } from '../../rules/job.ts'
import { countSlots, indexOfJob } from '../job-index.ts'
import { type Position, type Store, type StoreStats, sizeOf } from '../store.ts'
import { byTime, keysWith, type MemoryState } from './state.ts'

/** Every read of the store. */
export const createMemoryReads = (state: MemoryState) => ({
  ...jobReads(state),
  ...otherReads(state),
})

function jobReads({ records, active, occupied, changes }: MemoryState) {
  const jobs = () => [...records.job.values()].map(({ job }) => job)
  const activeJobs = () => [...active.values()]
  return {
    findJob: async (id) => {
      const found = records.job.get(id)
      return found && { document: found.job, version: found.version }
    },
    listDue: async (what, now, limit) =>
      activeJobs()
        .filter(({ outbox }) => what === 'tick' || outbox.length > 0)
        .map((job) => ({ id: job.id, at: dueAt(job, what) }))
        .filter(({ at }) => at <= now)
        .sort(byTime)
        .slice(0, limit)
        .map(({ id }) => id),
    listJobsOfNode: async (node) => [...(occupied.get(node)?.values() ?? [])],
    countOccupiedSlots: async () =>
      countSlots(activeJobs().flatMap((job) => indexOfJob(job).occupied)),
    listJobs: async ({ client, phase, before, limit }) =>
      jobs()
        .filter((job) => client === undefined || job.client === client)
        .filter((job) => phase === undefined || job.phase === phase)
        .filter((job) => isBefore(positionOf(job), before))
        .sort((a, b) => byTime(positionOf(b), positionOf(a)))
        .slice(0, limit),
    countJobsOfClient: async (client, which) =>
      (which === 'unsettled'
        ? activeJobs().filter(({ phase }) => !isSettled(phase))
        : jobs().filter(({ createdAt }) => createdAt >= which.since)
      ).filter((job) => job.client === client).length,
    listChanges: async (cursor) => changes.since(cursor),
    stats: async () => statsOf(jobs()),
  } satisfies Partial<Store>
}

function otherReads(state: MemoryState) {
  const { records, eventsByNode } = state
  return {
    findNode: async (address) => {
      const found = records.node.get(address)
      return found && { document: found.node, version: found.version }
    },
    listNodes: async (now) =>
      [...records.node.values()]
        .map(({ node }) => node)
        .filter(({ certificate }) => certificate.expiresAt > now)
        .sort((a, b) => (a.address < b.address ? -1 : 1)),
    findClient: async (address) => {
      const found = records.client.get(address)
      return found && { document: found.client, version: found.version }
    },
    listReputationEvents: async (node, { before, since = 0, limit }) => {
      const events = eventsByNode.get(node) ?? []
      const end = before
        ? events.findLastIndex((event) => byTime(event, before) < 0) + 1
        : events.length
      const first = events.findLastIndex(({ at }) => at < since) + 1
      return events.slice(Math.max(first, end - limit), end).toReversed()
    },
    findKey: async (key, now) => {
      const held = records.key.get(key)
      return held && held.expiresAt > now ? held.value : undefined
    },
    listKeys: async (prefix, now) =>
      keysWith(state, prefix)
        .filter(({ expiresAt }) => expiresAt > now)
        .map(({ key, value, expiresAt }) => ({ key, value, expiresAt }))
        .sort((a, b) => (a.key < b.key ? -1 : 1)),
    findBlob: async (cid) => records.blob.get(cid)?.bytes,
    countBlobBytes: async (uploader, usedAfter = -1) =>
      [...records.blob.values()]
        .filter((blob) => blob.uploader === uploader && (blob.usedUntil ?? 0) > usedAfter)
        .reduce((sum, blob) => sum + sizeOf(blob), 0),
  } satisfies Partial<Store>
}

const positionOf = ({ createdAt, id }: Job): Position => ({ at: createdAt, id })

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

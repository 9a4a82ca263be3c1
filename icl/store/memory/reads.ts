import type { JobPhase } from '../../../lib/schemas/jobs.ts'
import { byTime } from '../../async/due-list.ts'
import { countSlots, type JobIndex } from '../job-index.ts'
import { type Position, type Store, type StoreStats, sizeOf } from '../store.ts'
import { keysWith, type MemoryState } from './state.ts'

/** Every read of the store. */
export const createMemoryReads = (state: MemoryState) => ({
  ...jobReads(state),
  ...otherReads(state),
})

function jobReads({ records, indexes, due, unsettled, occupied, changes }: MemoryState) {
  const jobs = () => [...indexes.values()]
  return {
    findJob: async (id) => {
      const found = records.job.get(id)
      return found && { document: found.job, version: found.version }
    },
    listDue: async (what, now, limit, from) => due[what].until(now, limit, from),
    listJobsOfNode: async (node) => [...(occupied.get(node)?.values() ?? [])],
    countOccupiedSlots: async () =>
      countSlots(
        [...new Set([...occupied.values()].flatMap((held) => [...held.keys()]))].flatMap(
          (id) => indexes.get(id)?.occupied ?? [],
        ),
      ),
    listJobs: async ({ client, phase, before, limit }) =>
      jobs()
        .filter((job) => client === undefined || job.client === client)
        .filter((job) => phase === undefined || job.phase === phase)
        .filter((job) => isBefore(positionOf(job), before))
        .sort((a, b) => byTime(positionOf(b), positionOf(a)))
        .slice(0, limit)
        .flatMap(({ id }) => records.job.get(id)?.job ?? []),
    countJobsOfClient: async (client, which) =>
      which === 'unsettled'
        ? (unsettled.get(client) ?? 0)
        : jobs().filter((job) => job.client === client && job.createdAt >= which.since).length,
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

type Found = { readonly createdAt: number; readonly id: string }
const positionOf = ({ createdAt, id }: Found): Position => ({ at: createdAt, id })

const isBefore = (position: Position, limit: Position | undefined): boolean =>
  limit === undefined || byTime(position, limit) < 0

function statsOf(jobs: readonly JobIndex[]): StoreStats {
  const jobsByPhase: Partial<Record<JobPhase, number>> = {}
  for (const { phase } of jobs) jobsByPhase[phase] = (jobsByPhase[phase] ?? 0) + 1
  const due = jobs.flatMap(({ effectsDueAt }) => effectsDueAt ?? [])
  return {
    jobsByPhase,
    effects: jobs.reduce((sum, { effects }) => sum + effects, 0),
    oldestEffectDueAt: due.length > 0 ? Math.min(...due) : undefined,
  }
}

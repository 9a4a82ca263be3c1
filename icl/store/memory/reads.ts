import { firstIndex } from '../../../lib/first-index.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import { byTime } from '../../async/due-list.ts'
import type { Job } from '../../rules/job.ts'
import { countSlots } from '../job-index.ts'
import { type Store, sizeOf } from '../store.ts'
import { keysWith, type MemoryState } from './state.ts'

/** Every read of the store. */
export const createMemoryReads = (state: MemoryState) => ({
  ...jobReads(state),
  ...otherReads(state),
})

function jobReads(state: MemoryState) {
  const { records, indexes, due, created, occupied, changes } = state
  const { unsettled, phases, totals } = state
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
    listJobs: async ({ client, phase, before, limit }) => {
      const list = client === undefined ? created.all : created.byClient.get(client)
      const found: Job[] = []
      for (const id of list?.before(before) ?? []) {
        if (found.length >= limit) break
        if (phase !== undefined && indexes.get(id)?.phase !== phase) continue
        const record = records.job.get(id)
        if (record) found.push(record.job)
      }
      return found
    },
    countJobsOfClient: async (client, which) =>
      which === 'unsettled'
        ? unsettled.of(client)
        : (created.byClient.get(client)?.countFrom(which.since) ?? 0),
    listChanges: async (cursor) => changes.since(cursor),
    stats: async () => {
      const [oldest] = due.effect.until(Number.POSITIVE_INFINITY, 1)
      return {
        jobsByPhase: Object.fromEntries(phases.entries()),
        effects: totals.effects,
        oldestEffectDueAt: oldest && indexes.get(oldest)?.effectsDueAt,
      }
    },
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
      const placeOf = (isFarEnough: (event: ReputationEvent) => boolean) =>
        firstIndex(events.length, (index) => isFarEnough(events[index] as ReputationEvent))
      const end = before ? placeOf((event) => byTime(event, before) >= 0) : events.length
      const first = placeOf(({ at }) => at >= since)
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

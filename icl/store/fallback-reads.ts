import { ProblemError } from '../../lib/problem.ts'
import { isSettled } from '../rules/job.ts'
import type { BlobCache } from './fallback-blobs.ts'
import type { EventCache } from './fallback-events.ts'
import type { Mirror } from './fallback-mirror.ts'
import type { Store } from './store.ts'

/** The reads of a store. */
export type Reads = Pick<
  Store,
  | 'findJob'
  | 'listDueTicks'
  | 'listDueEffects'
  | 'listJobsWithEffects'
  | 'listJobsOfNode'
  | 'countOccupiedSlots'
  | 'listJobsOfClient'
  | 'listJobs'
  | 'countJobsOfClient'
  | 'countUnsettledJobsOfClient'
  | 'listJobOrigins'
  | 'findNode'
  | 'listNodes'
  | 'findClient'
  | 'listClients'
  | 'listReputationEvents'
  | 'pageReputationEvents'
  | 'findKey'
  | 'listKeys'
  | 'findBlob'
  | 'countBlobBytes'
  | 'stats'
>

type Held = {
  readonly events: EventCache
  readonly blobs: BlobCache
  readonly isWhole: boolean
  readonly isWritable: boolean
}

const retryAfterSeconds = 5

/** The refusal of what only the database can answer. */
export const onlyInDatabase = (what: string): ProblemError =>
  new ProblemError('unavailable', `${what} is in the database, which does not answer`, {
    retryAfterSeconds,
  })

/**
 * Reads from what is held in memory. Nothing is said to be absent, or a list to be whole, unless it is: `isWhole` says that
 * nobody else has saved since the mirror was filled. Nothing is due while nothing can be saved.
 */
export function readsOf(
  { memory, origins }: Mirror,
  { events, blobs, isWhole, isWritable }: Held,
): Reads {
  const found = <T>(what: string, value: T | undefined, isAbsent: boolean): T | undefined => {
    if (value === undefined && !isAbsent) throw onlyInDatabase(what)
    return value
  }
  const wholeEvents = (node: Parameters<EventCache['isWhole']>[0]) => {
    if (!isWhole || !events.isWhole(node)) throw onlyInDatabase(`The history of ${node}`)
  }
  return {
    findJob: async (id) => found('The job', await memory.findJob(id), isWhole && !origins.has(id)),
    findNode: async (address) => found('The node', await memory.findNode(address), isWhole),
    findClient: async (address) => found('The client', await memory.findClient(address), isWhole),
    findKey: async (key, now) => found('The key', await memory.findKey(key, now), isWhole),
    findBlob: async (cid) => found('The blob', blobs.find(cid), false),
    countBlobBytes: async (uploader) => blobs.pinnedBytes(uploader),
    listJobsOfClient: async (client, page) => {
      for (const id of origins.of(client).keys()) {
        if (!(await memory.findJob(id))) throw onlyInDatabase('The list of older jobs')
      }
      return memory.listJobsOfClient(client, page)
    },
    listJobs: async (page) => {
      // Every unsettled job is held.
      if (page.phase === undefined || isSettled(page.phase)) {
        for (const { id } of origins.all()) {
          if (!(await memory.findJob(id))) throw onlyInDatabase('The list of older jobs')
        }
      }
      return memory.listJobs(page)
    },
    countJobsOfClient: async (client, since) =>
      [...origins.of(client).values()].filter((createdAt) => createdAt >= since).length,
    listJobOrigins: async (after, limit) =>
      [...origins.all()]
        .filter(({ id }) => id > (after ?? ''))
        .sort((a, b) => (a.id < b.id ? -1 : 1))
        .slice(0, limit),
    listReputationEvents: async (node) => {
      wholeEvents(node)
      return events.list(node)
    },
    pageReputationEvents: async (node, page) => {
      wholeEvents(node)
      return events.page(node, page)
    },
    listDueTicks: async (now, limit) => (isWritable ? memory.listDueTicks(now, limit) : []),
    listDueEffects: async (now, limit) => (isWritable ? memory.listDueEffects(now, limit) : []),
    listJobsWithEffects: memory.listJobsWithEffects,
    listJobsOfNode: memory.listJobsOfNode,
    countOccupiedSlots: memory.countOccupiedSlots,
    countUnsettledJobsOfClient: memory.countUnsettledJobsOfClient,
    listNodes: memory.listNodes,
    listClients: memory.listClients,
    listKeys: memory.listKeys,
    stats: memory.stats,
  }
}

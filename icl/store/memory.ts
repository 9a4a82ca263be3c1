import type { Clock } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import type { Node } from '../rules/eligibility.ts'
import { isBusy, isSettled, type Job } from '../rules/job.ts'
import type { ReputationEvent } from '../rules/reputation.ts'
import type { BusySlots, Store, Versioned } from './store.ts'

/** A store that lives and dies with its process, and can show all it holds. */
export type MemoryStore = Store & {
  /** Everything in the store as plain data. */
  dump(): unknown
}

const sweepEvery = 1_000

/** Makes an empty store in memory: for development, and until a durable one is configured. */
export function createMemoryStore(clock: Clock): MemoryStore {
  const jobs = createDocuments<Job>()
  const nodes = createDocuments<Node>()
  const events = new Map<string, ReputationEvent>()
  const keys = new Map<string, { value: string; expiresAt: number }>()
  let claims = 0

  return {
    durable: false,
    ping: async () => {},

    insertJob: async (job) => jobs.insert(job.id, job),
    findJob: async (id) => jobs.find(id),
    replaceJob: async (job, version) => jobs.replace(job.id, job, version),
    listDueJobs: async (now, limit) => listDue(jobs.all(), now, limit),
    listJobsOfNode: async (node) =>
      jobs
        .all()
        .filter(
          (job) =>
            !isSettled(job.phase) &&
            job.slots.some((slot) => slot.node === node && isBusy(slot.status)),
        ),
    countUnsettledJobsOfClient: async (client) =>
      jobs.all().filter((job) => job.client === client && !isSettled(job.phase)).length,
    countBusySlots: async () => countBusySlots(jobs.all()),
    countJobsOfClient: async (client, since) =>
      jobs.all().filter((job) => job.client === client && job.createdAt >= since).length,

    insertNode: async (node) => nodes.insert(node.address, node),
    findNode: async (address) => nodes.find(address),
    replaceNode: async (node, version) => nodes.replace(node.address, node, version),
    listNodes: async (now) =>
      nodes
        .all()
        .filter(({ certificate }) => certificate.expiresAt > now)
        .sort((a, b) => (a.address < b.address ? -1 : 1)),

    insertReputationEvent: async (event) => {
      if (events.has(event.id)) return false
      events.set(event.id, event)
      return true
    },
    listReputationEvents: async (node: Address) =>
      [...events.values()].filter((event) => event.node === node),

    findKey: async (key) => {
      const held = keys.get(key)
      return held && held.expiresAt > clock.now() ? held.value : undefined
    },
    claimKey: async (key, value, expiresAt) => {
      const now = clock.now()
      const held = keys.get(key)
      if (held && held.expiresAt > now) return held.value
      if (++claims % sweepEvery === 0) {
        for (const [other, { expiresAt: end }] of keys) if (end <= now) keys.delete(other)
      }
      keys.set(key, { value, expiresAt })
      return value
    },

    dump: () => ({
      jobs: jobs.all(),
      nodes: nodes.all(),
      events: [...events.values()],
      keys: [...keys],
    }),
  }
}

function listDue(jobs: readonly Job[], now: number, limit: number): readonly JobId[] {
  return jobs
    .map((job) => ({ id: job.id, dueAt: dueAt(job) }))
    .filter((job) => job.dueAt <= now)
    .sort((a, b) => a.dueAt - b.dueAt)
    .slice(0, limit)
    .map(({ id }) => id)
}

function countBusySlots(jobs: readonly Job[]): ReadonlyMap<Address, BusySlots> {
  const counts = new Map<Address, BusySlots>()
  for (const { node, status } of jobs.flatMap((job) => (isSettled(job.phase) ? [] : job.slots))) {
    const { offered, claimed } = counts.get(node) ?? { offered: 0, claimed: 0 }
    if (status === 'offered') counts.set(node, { offered: offered + 1, claimed })
    if (status === 'claimed') counts.set(node, { offered, claimed: claimed + 1 })
  }
  return counts
}

const dueAt = (job: Job): number =>
  Math.min(job.wakeAt ?? Number.POSITIVE_INFINITY, ...job.outbox.map((pending) => pending.dueAt))

type Documents<T> = {
  insert(id: string, document: T): boolean
  find(id: string): Versioned<T> | undefined
  replace(id: string, document: T, version: number): boolean
  /** Every document; not to be changed. */
  all(): T[]
}

/** Versioned documents by id. Jobs and nodes are never changed in place, so they need no copies. */
function createDocuments<T>(): Documents<T> {
  const documents = new Map<string, Versioned<T>>()
  return {
    insert: (id, document) => {
      if (documents.has(id)) return false
      documents.set(id, { document, version: 1 })
      return true
    },
    find: (id) => documents.get(id),
    replace: (id, document, version) => {
      if (documents.get(id)?.version !== version) return false
      documents.set(id, { document, version: version + 1 })
      return true
    },
    all: () => [...documents.values()].map(({ document }) => document),
  }
}

import type { Filter, Sort } from 'mongodb'
import { Address, JobId } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import { JobPhase } from '../../../lib/schemas/jobs.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { countSlots, type OccupiedSlot } from '../job-index.ts'
import {
  behindPrefix,
  bytesOf,
  documentOf,
  heldKeyOf,
  numberOf,
  parsed,
  versionedOf,
} from '../rows.ts'
import type { Position, Store } from '../store.ts'
import { fillPage, type Unreadable } from '../unreadable.ts'
import { phaseIndex, type Rows } from './collections.ts'
import type { Queries } from './queries.ts'

const documentOnly = { document: 1 }
const newestFirst = (field: string): Sort => ({ [field]: -1, _id: -1 })

/** Returns the filter for rows from `since` on and before a position, in a list that is ordered by time, then by id. */
function inRange<Row>(
  field: string,
  before: Position | undefined,
  since?: number | undefined,
): Filter<Row> {
  // The bounds by time alone keep the server from reading all newer rows again for each page.
  const bounds = {
    ...(since !== undefined && { $gte: since }),
    ...(before && { $lte: before.at }),
  }
  return {
    ...(Object.keys(bounds).length > 0 && { [field]: bounds }),
    ...(before && {
      $or: [{ [field]: { $lt: before.at } }, { [field]: before.at, _id: { $lt: before.id } }],
    }),
  } as Filter<Row>
}

/** Reads of jobs. */
export function jobReads({ list, one, count }: Queries, unreadable: Unreadable) {
  const readAll = unreadable.readerOf('job', (row) => documentOf<Job>(row, 'job'))
  return {
    findJob: async (id) => {
      const row = await one('jobs', { _id: id })
      return row && unreadable.read(`job ${id}`, () => versionedOf<Job>(row, 'job'))
    },
    listDue: async (what, now, limit, from = 0) => {
      const field = what === 'tick' ? 'tickAt' : 'effectsDueAt'
      const options = { projection: { _id: 1 }, sort: { [field]: 1 } as Sort, limit }
      const rows = await list('jobs', { [field]: { $gte: from, $lte: now } }, options)
      return rows.map((row) => parsed(JobId, row, 'id'))
    },
    listJobsOfNode: async (node) => {
      const filter = { occupied: { $in: [`offered:${node}`, `claimed:${node}`] } }
      return readAll(await list('jobs', filter, { projection: documentOnly }))
    },
    listJobs: ({ client, phase, ...page }) => {
      const filter = { ...(client && { client }), ...(phase && { phase }) }
      const projection = { document: 1, createdAt: 1 }
      const ask = (before: Position | undefined, limit: number) => {
        const where = { ...filter, ...inRange<Rows['jobs']>('createdAt', before) }
        return list('jobs', where, { projection, sort: newestFirst('createdAt'), limit })
      }
      return fillPage(page, 'createdAt', ask, readAll)
    },
    countJobsOfClient: (client, which) =>
      count({
        client,
        ...(which === 'unsettled' ? { settledAt: null } : { createdAt: { $gte: which.since } }),
      }),
  } satisfies Partial<Store>
}

/** Figures over all jobs. */
export function jobFigures({ one, group }: Queries) {
  return {
    countOccupiedSlots: async () => {
      const byNode = { $group: { _id: '$occupied', slots: { $sum: 1 } } }
      const unsettled = { $match: { settledAt: null } }
      const rows = await group('jobs', [unsettled, { $unwind: '$occupied' }, byNode])
      return countSlots(
        rows.map((row) => ({ ...occupiedOf(String(row.id)), count: numberOf(row, 'slots') })),
      )
    },
    stats: async () => {
      // Without the hint the server reads every job whole: it takes no index for a group without a filter.
      const byPhase = { $group: { _id: '$phase', jobs: { $sum: 1 } } }
      const present = { $match: { phase: { $gte: '' } } }
      const phases = await group('jobs', [present, byPhase], phaseIndex)
      const pending = { effectsDueAt: { $gte: 0 } }
      const sum = { $group: { _id: null, effects: { $sum: '$effects' } } }
      const [effects] = await group('jobs', [{ $match: pending }, sum])
      const options = { projection: { effectsDueAt: 1 }, sort: { effectsDueAt: 1 } as const }
      const first = await one('jobs', pending, options)
      return {
        jobsByPhase: Object.fromEntries(
          phases.map((row) => [parsed(JobPhase, row, 'id'), numberOf(row, 'jobs')]),
        ),
        effects: effects ? numberOf(effects, 'effects') : 0,
        oldestEffectDueAt: first && numberOf(first, 'effectsDueAt'),
      }
    },
  } satisfies Partial<Store>
}

/** Parses an occupied slot from its text, `offered:ADDRESS` or `claimed:ADDRESS`. */
export function occupiedOf(text: string): OccupiedSlot {
  const [status, node] = text.split(':')
  const address = parsed(Address, { node }, 'node')
  return { node: address, status: status === 'offered' ? status : 'claimed' }
}

/** Reads of nodes, clients, events, keys and blobs. */
export function otherReads({ list, one, group }: Queries, unreadable: Unreadable) {
  const readNodes = unreadable.readerOf('node', (row) => documentOf<Node>(row, 'node'))
  const readEvents = unreadable.readerOf('event', (row) =>
    documentOf<ReputationEvent>(row, 'event'),
  )
  return {
    findNode: async (address) => {
      const row = await one('nodes', { _id: address })
      return row && unreadable.read(`node ${address}`, () => versionedOf<Node>(row, 'node'))
    },
    listNodes: async (now) => {
      const options = { projection: documentOnly, sort: { _id: 1 } as const }
      return readNodes(await list('nodes', { certificateExpiresAt: { $gt: now } }, options))
    },
    findClient: async (address) => {
      const row = await one('clients', { _id: address })
      return row && unreadable.read(`client ${address}`, () => versionedOf<Client>(row, 'client'))
    },
    listReputationEvents: (node, { since, ...page }) => {
      const projection = { document: 1, at: 1 }
      const ask = (before: Position | undefined, limit: number) => {
        const where = { node, ...inRange<Rows['events']>('at', before, since) }
        return list('events', where, { projection, sort: newestFirst('at'), limit })
      }
      return fillPage(page, 'at', ask, readEvents)
    },
    findKey: async (key, now) => {
      const row = await one('keys', { _id: key, expiresAt: { $gt: now } })
      return row && heldKeyOf(row).value
    },
    listKeys: async (prefix, now) => {
      const filter = { _id: { $gte: prefix, $lt: behindPrefix(prefix) }, expiresAt: { $gt: now } }
      return (await list('keys', filter, { sort: { _id: 1 } })).map(heldKeyOf)
    },
    findBlob: async (cid) => {
      const row = await one('blobs', { _id: cid }, { promoteBuffers: true })
      return row && bytesOf(row, 'bytes')
    },
    countBlobBytes: async (uploader, usedAfter = -1) => {
      const sum = { $group: { _id: '$uploader', bytes: { $sum: '$size' } } }
      const [row] = await group('blobs', [
        { $match: { uploader, usedUntil: { $gt: usedAfter } } },
        sum,
      ])
      return row ? numberOf(row, 'bytes') : 0
    },
  } satisfies Partial<Store>
}

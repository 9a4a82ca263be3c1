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
import { phaseIndex, type Row, rowId } from './collections.ts'
import type { Queries } from './queries.ts'

const documentOnly = { document: 1 }
const newestFirst = (field: string): Sort => ({ [field]: -1, _id: -1 })

/** Returns the filter for rows from `since` on and before a position, in a list that is ordered by time, then by id. */
function inRange(
  kind: 'job' | 'event',
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
      $or: [
        { [field]: { $lt: before.at } },
        { [field]: before.at, _id: { $lt: rowId(kind, before.id) } },
      ],
    }),
  }
}

/** Reads of jobs. */
export function jobReads({ list, one, count }: Queries, unreadable: Unreadable) {
  const readAll = unreadable.readerOf('job', (row) => documentOf<Job>(row, 'job'))
  return {
    findJob: async (id) => {
      const row = await one('job', { _id: rowId('job', id) })
      return row && unreadable.read(`job ${id}`, () => versionedOf<Job>(row, 'job'))
    },
    listDue: async (what, now, limit, from = 0) => {
      const field = what === 'tick' ? 'tickAt' : 'effectsDueAt'
      const options = { projection: { _id: 1 }, sort: { [field]: 1 } as Sort, limit }
      const rows = await list('job', { [field]: { $gte: from, $lte: now } }, options)
      return rows.map((row) => parsed(JobId, row, 'id'))
    },
    listJobsOfNode: async (node) => {
      const filter = { occupied: { $in: [`offered:${node}`, `claimed:${node}`] } }
      return readAll(await list('job', filter, { projection: documentOnly }))
    },
    listJobs: ({ client, phase, ...page }) => {
      const filter = { ...(client && { client }), ...(phase && { phase }) }
      const projection = { document: 1, createdAt: 1 }
      const ask = (before: Position | undefined, limit: number) => {
        const where = { ...filter, ...inRange('job', 'createdAt', before) }
        return list('job', where, { projection, sort: newestFirst('createdAt'), limit })
      }
      return fillPage(page, 'createdAt', ask, readAll)
    },
    countJobsOfClient: (client, which) =>
      count('job', {
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
      const steps = [{ $unwind: '$occupied' }, byNode]
      const rows = await group('job', { settledAt: null }, steps)
      return countSlots(
        rows.map((row) => ({ ...occupiedOf(String(row.id)), count: numberOf(row, 'slots') })),
      )
    },
    stats: async () => {
      // Without the hint the server reads every job whole: it takes no index for a group without a filter.
      const byPhase = { $group: { _id: '$phase', jobs: { $sum: 1 } } }
      const phases = await group('job', { phase: { $gte: '' } }, [byPhase], phaseIndex)
      const pending = { effectsDueAt: { $gte: 0 } }
      const sum = { $group: { _id: null, effects: { $sum: '$effects' } } }
      const [effects] = await group('job', pending, [sum])
      const options = { projection: { effectsDueAt: 1 }, sort: { effectsDueAt: 1 } as const }
      const first = await one('job', pending, options)
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
      const row = await one('node', { _id: rowId('node', address) })
      return row && unreadable.read(`node ${address}`, () => versionedOf<Node>(row, 'node'))
    },
    listNodes: async (now) => {
      const options = { projection: documentOnly, sort: { _id: 1 } as const }
      return readNodes(await list('node', { certificateExpiresAt: { $gt: now } }, options))
    },
    findClient: async (address) => {
      const row = await one('client', { _id: rowId('client', address) })
      return row && unreadable.read(`client ${address}`, () => versionedOf<Client>(row, 'client'))
    },
    listReputationEvents: (node, { since, ...page }) => {
      const projection = { document: 1, at: 1 }
      const ask = (before: Position | undefined, limit: number) => {
        const where = { node, ...inRange('event', 'at', before, since) }
        return list('event', where, { projection, sort: newestFirst('at'), limit })
      }
      return fillPage(page, 'at', ask, readEvents)
    },
    findKey: async (key, now) => {
      const row = await one('key', { _id: rowId('key', key), expiresAt: { $gt: now } })
      return row && heldKeyOf(row).value
    },
    listKeys: async (prefix, now) => {
      const from = rowId('key', prefix)
      const filter = { _id: { $gte: from, $lt: behindPrefix(from) }, expiresAt: { $gt: now } }
      return (await list('key', filter, { sort: { _id: 1 } })).map(heldKeyOf)
    },
    findBlob: async (cid) => {
      const row = await one('blob', { _id: rowId('blob', cid) }, { promoteBuffers: true })
      return row && bytesOf(row, 'bytes')
    },
    countBlobBytes: async (uploader, usedAfter = -1) => {
      const sum = { $group: { _id: '$uploader', bytes: { $sum: '$size' } } }
      const used = { uploader, usedUntil: { $gt: usedAfter } }
      const [row] = await group('blob', used, [sum])
      return row ? numberOf(row, 'bytes') : 0
    },
  } satisfies Partial<Store>
}

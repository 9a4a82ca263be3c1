import type { Filter, Sort } from 'mongodb'
import type { z } from 'zod'
import { Address } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { countSlots, type OccupiedSlot } from '../job-index.ts'
import { behindPrefix } from '../rows.ts'
import type { Position, Store, Versioned } from '../store.ts'
import { fillPage, type Unreadable } from '../unreadable.ts'
import type { EventRow, JobRow } from './collections.ts'
import type { MongoConnection } from './connection.ts'
import {
  BlobBytes,
  ByteCount,
  bytesOf,
  documentOf,
  EffectRow,
  EffectSum,
  EventPosition,
  HeldKeyRow,
  JobIdRow,
  JobPosition,
  OccupiedCount,
  PhaseCount,
  parseRow,
  VersionedDocument,
} from './rows.ts'

const documentOnly = { projection: { document: 1 } }
const idOf = ({ _id }: { readonly _id: string }) => _id
const newestFirst = (field: string): Sort => ({ [field]: -1, _id: -1 })

/** Reads of jobs. */
export function jobReads({ run }: MongoConnection, unreadable: Unreadable) {
  const readAll = (rows: readonly JobRow[]) =>
    unreadable.readAll(rows, idOf, (row) => documentOf<Job>(row))
  const pageOf = (
    filter: Filter<JobRow>,
    page: { readonly before?: Position | undefined; readonly limit: number },
  ) => {
    const projection = { document: 1, createdAt: 1 }
    const ask = (before: Position | undefined, limit: number) => {
      const options = { projection, sort: newestFirst('createdAt'), limit }
      const where = { ...filter, ...beforePosition<JobRow>('createdAt', before) }
      return run(({ jobs }) => jobs.find(where, options).toArray())
    }
    const positionOf = (row: unknown): Position => {
      const { createdAt: at, _id: id } = parseRow(JobPosition, row)
      return { at, id }
    }
    return fillPage(page, ask, positionOf, readAll)
  }
  return {
    findJob: async (id) => {
      const row = await run(({ jobs }) => jobs.findOne({ _id: id }))
      return row ? unreadable.read(id, () => versioned<Job>(row)) : undefined
    },
    listDue: async (what, now, limit) => {
      const field = what === 'tick' ? 'tickAt' : 'effectsDueAt'
      const options = { projection: { _id: 1 }, sort: { [field]: 1 } as Sort, limit }
      const filter = { [field]: { $lte: now } }
      const rows = await run(({ jobs }) => jobs.find(filter, options).toArray())
      return rows.map((row) => parseRow(JobIdRow, row)._id)
    },
    listJobsOfNode: async (node) => {
      const filter = { occupied: { $in: [`offered:${node}`, `claimed:${node}`] } }
      return readAll(await run(({ jobs }) => jobs.find(filter, documentOnly).toArray()))
    },
    listJobs: ({ client, phase, ...page }) =>
      pageOf({ ...(client && { client }), ...(phase && { phase }) }, page),
    countJobsOfClient: (client, which) => {
      const these =
        which === 'unsettled' ? { settledAt: null } : { createdAt: { $gte: which.since } }
      return run(({ jobs }) => jobs.countDocuments({ client, ...these }))
    },
  } satisfies Partial<Store>
}

const versioned = <T extends Job | Node | Client>(row: unknown): Versioned<T> => ({
  document: documentOf<T>(row),
  version: parseRow(VersionedDocument, row).version,
})

/** Returns the filter for rows before a position in a list that is ordered by time, then by id. */
const beforePosition = <Row>(field: string, before: Position | undefined): Filter<Row> =>
  (before
    ? { $or: [{ [field]: { $lt: before.at } }, { [field]: before.at, _id: { $lt: before.id } }] }
    : {}) as Filter<Row>

/** Figures over all jobs. */
export function jobFigures({ run }: MongoConnection) {
  return {
    countOccupiedSlots: async () => {
      const steps = [
        { $match: { settledAt: null } },
        { $unwind: '$occupied' },
        { $group: { _id: '$occupied', count: { $sum: 1 } } },
      ]
      const rows = await run(({ jobs }) => jobs.aggregate(steps).toArray())
      const counts = rows.map((row) => parseRow(OccupiedCount, row))
      return countSlots(counts.map(({ _id, count }) => ({ ...occupiedOf(_id), count })))
    },
    stats: async () => {
      const byPhase = { $group: { _id: '$phase', jobs: { $sum: 1 } } }
      const rows = await run(({ jobs }) => jobs.aggregate([byPhase]).toArray())
      const counts = rows.map((row) => parseRow(PhaseCount, row))
      const pending = { effectsDueAt: { $gte: 0 } }
      const sum = [{ $match: pending }, { $group: { _id: null, effects: { $sum: '$effects' } } }]
      const [effects] = await run(({ jobs }) => jobs.aggregate(sum).toArray())
      const options = { projection: { effectsDueAt: 1 }, sort: { effectsDueAt: 1 } as const }
      const first = await run(({ jobs }) => jobs.findOne(pending, options))
      return {
        jobsByPhase: Object.fromEntries(counts.map(({ _id, jobs }) => [_id, jobs])),
        effects: effects ? parseRow(EffectSum, effects).effects : 0,
        oldestEffectDueAt: first ? parseRow(EffectRow, first).effectsDueAt : undefined,
      }
    },
  } satisfies Partial<Store>
}

/** Parses an occupied slot from its text, `offered:ADDRESS` or `claimed:ADDRESS`. */
export function occupiedOf(text: string): OccupiedSlot {
  const [status, node] = text.split(':')
  return { node: parseRow(Address, node), status: status === 'offered' ? status : 'claimed' }
}

/** Reads of nodes, clients, events, keys and blobs. */
export function otherReads({ run }: MongoConnection, unreadable: Unreadable) {
  const readEvents = (rows: readonly EventRow[]) =>
    unreadable.readAll(rows, idOf, (row) => documentOf<ReputationEvent>(row))
  return {
    findNode: async (address) => {
      const row = await run(({ nodes }) => nodes.findOne({ _id: address }))
      return row ? unreadable.read(address, () => versioned<Node>(row)) : undefined
    },
    listNodes: async (now) => {
      const filter = { certificateExpiresAt: { $gt: now } }
      const rows = await run(({ nodes }) =>
        nodes.find(filter, { ...documentOnly, sort: { _id: 1 } }).toArray(),
      )
      return unreadable.readAll(rows, idOf, (row) => documentOf<Node>(row))
    },
    findClient: async (address) => {
      const row = await run(({ clients }) => clients.findOne({ _id: address }))
      return row ? unreadable.read(address, () => versioned<Client>(row)) : undefined
    },
    listReputationEvents: (node, page) => {
      const projection = { document: 1, at: 1 }
      const ask = (before: Position | undefined, limit: number) => {
        const later = page.since === undefined ? {} : { at: { $gte: page.since } }
        const where = { node, ...later, ...beforePosition<EventRow>('at', before) }
        const options = { projection, sort: newestFirst('at'), limit }
        return run(({ events }) => events.find(where, options).toArray())
      }
      const positionOf = (row: unknown): Position => {
        const { at, _id: id } = parseRow(EventPosition, row)
        return { at, id }
      }
      return fillPage(page, ask, positionOf, readEvents)
    },
    findKey: async (key, now) => {
      const row = await run(({ keys }) => keys.findOne({ _id: key, expiresAt: { $gt: now } }))
      return row ? parseRow(HeldKeyRow, row).value : undefined
    },
    listKeys: async (prefix, now) => {
      const filter = {
        _id: { $gte: prefix, $lt: behindPrefix(prefix) },
        expiresAt: { $gt: now },
      }
      const rows = await run(({ keys }) => keys.find(filter, { sort: { _id: 1 } }).toArray())
      return rows.map((row) => heldKeyOf(parseRow(HeldKeyRow, row)))
    },
    findBlob: async (cid) => {
      const row = await run(({ blobs }) => blobs.findOne({ _id: cid }))
      return row ? bytesOf(parseRow(BlobBytes, row)) : undefined
    },
    countBlobBytes: async (uploader) => {
      const steps = [
        { $match: { uploader } },
        { $group: { _id: '$uploader', bytes: { $sum: '$size' } } },
      ]
      const [row] = await run(({ blobs }) => blobs.aggregate(steps).toArray())
      return row ? parseRow(ByteCount, row).bytes : 0
    },
  } satisfies Partial<Store>
}

/** Returns a row of a key as a held key of the store. */
export const heldKeyOf = ({ _id, value, expiresAt }: z.output<typeof HeldKeyRow>) => ({
  key: _id,
  value,
  expiresAt,
})

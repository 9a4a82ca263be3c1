import { Binary, type Collection, type Filter, type MatchKeysAndValues, type Sort } from 'mongodb'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import type { Store, StoreRecord } from '../store.ts'
import {
  clientFieldsOf,
  eventRowOf,
  type JobRow,
  jobFieldsOf,
  type MongoCollections,
  nodeFieldsOf,
} from './collections.ts'
import type { MongoConnection } from './connection.ts'
import { heldKeyOf } from './reads.ts'
import { bytesOf, documentOf, HeldKeyRow, parseRow, VersionedDocument, WholeBlob } from './rows.ts'
import { unlessTaken } from './taken.ts'

/** Deletes records that are over. No TTL index does so, because the ICL's clock alone decides what has expired. */
export function pruning({ run }: MongoConnection) {
  const remove = async <Row extends { readonly _id: string }>(
    of: (collections: MongoCollections) => Collection<Row>,
    over: Filter<Row>,
    limit: number,
  ): Promise<number> => {
    const options = { projection: { _id: 1 }, limit }
    const rows = await run((all) => of(all).find(over, options).toArray())
    if (rows.length === 0) return 0
    // Repeats the condition for each document: one may have been renewed meanwhile.
    const these = { ...over, _id: { $in: rows.map(({ _id }) => _id) } } as Filter<Row>
    const { deletedCount } = await run((all) => of(all).deleteMany(these))
    return deletedCount
  }
  return {
    prune: async ({ now, settledBefore, limit }) => {
      const settled: Filter<JobRow> = { settledAt: { $lt: settledBefore }, effects: 0 }
      const jobs = await remove(({ jobs }) => jobs, settled, limit)
      const keys = await remove(({ keys }) => keys, { expiresAt: { $lte: now } }, limit)
      return jobs + keys + (await remove(({ blobs }) => blobs, { until: { $lte: now } }, limit))
    },
    // Returns false when a first attempt erased the record and its answer was lost: the retry does not find it.
    erase: async (record) => {
      const { deletedCount } = await run(({ jobs, clients, blobs }) => {
        if (record.kind === 'client') return clients.deleteOne({ _id: record.address })
        if (record.kind === 'blob') return blobs.deleteOne({ _id: record.cid })
        return jobs.deleteOne({ _id: record.id, settledAt: { $ne: null }, effects: 0 })
      })
      return deletedCount > 0
    },
  } satisfies Partial<Store>
}

const pageSize = 200
const blobPageSize = 8

/** Yields every record for a backup, page by page, so that a broken connection costs one page's retry. */
export async function* scanAll(connection: MongoConnection): AsyncGenerator<StoreRecord> {
  const pages = <Row extends { readonly _id: string }>(
    of: (collections: MongoCollections) => Collection<Row>,
    limit = pageSize,
  ) => pagesOf(connection, of, limit)
  for await (const row of pages(({ jobs }) => jobs)) {
    const { version } = parseRow(VersionedDocument, row)
    yield { kind: 'job', job: documentOf<Job>(row), version }
  }
  for await (const row of pages(({ nodes }) => nodes)) {
    const { version } = parseRow(VersionedDocument, row)
    yield { kind: 'node', node: documentOf<Node>(row), version }
  }
  for await (const row of pages(({ clients }) => clients)) {
    const { version } = parseRow(VersionedDocument, row)
    yield { kind: 'client', client: documentOf<Client>(row), version }
  }
  for await (const row of pages(({ events }) => events)) {
    yield { kind: 'event', event: documentOf<ReputationEvent>(row) }
  }
  for await (const row of pages(({ keys }) => keys)) {
    if (row.value !== null) yield { kind: 'key', ...heldKeyOf(parseRow(HeldKeyRow, row)) }
  }
  for await (const row of pages(({ blobs }) => blobs, blobPageSize)) {
    const { _id: cid, uploader, until, bytes } = parseRow(WholeBlob, row)
    yield { kind: 'blob', cid, uploader, until, bytes: bytesOf({ bytes }) }
  }
}

async function* pagesOf<Row extends { readonly _id: string }>(
  { run }: MongoConnection,
  of: (collections: MongoCollections) => Collection<Row>,
  limit: number,
) {
  const sort: Sort = { _id: 1 }
  for (let after = ''; ; ) {
    const filter = { _id: { $gt: after } } as Filter<Row>
    const rows = await run((all) => of(all).find(filter, { sort, limit }).toArray())
    yield* rows
    const last = rows.at(-1)
    if (!last) return
    after = last._id
  }
}

/** Inserts a record unless there is one with its id; also true when the save with this write id inserted that one. */
export function restoreOnce(
  collections: MongoCollections,
  record: StoreRecord,
  writeId: string,
): Promise<boolean> {
  const { jobs, nodes, clients, events, keys, blobs } = collections
  switch (record.kind) {
    case 'job': {
      const { job, version } = record
      return insert(jobs, job.id, { ...jobFieldsOf(job), version, writeId }, true)
    }
    case 'node': {
      const { node, version } = record
      return insert(nodes, node.address, { ...nodeFieldsOf(node), version, writeId })
    }
    case 'client': {
      const { client, version } = record
      return insert(clients, client.address, { ...clientFieldsOf(client), version, writeId })
    }
    case 'event': {
      const { _id, ...row } = eventRowOf(record.event, writeId)
      return insert(events, _id, row)
    }
    case 'key': {
      const { key, value, expiresAt } = record
      return insert(keys, key, { value, expiresAt, writeId })
    }
    case 'blob': {
      const { cid, bytes, uploader, until } = record
      const row = { bytes: new Binary(bytes), size: bytes.length, uploader, until, writeId }
      return insert(blobs, cid, row)
    }
  }
}

async function insert<Row extends { readonly _id: string; readonly writeId: string }>(
  collection: Collection<Row>,
  id: string,
  row: Omit<Row, '_id' | 'changed'>,
  hasStamp = false,
): Promise<boolean> {
  const stamp = hasStamp ? { $currentDate: { changed: { $type: 'timestamp' } } } : {}
  const update = { ...stamp, $set: row as unknown as MatchKeysAndValues<Row> }
  // The filter finds only a document of this write id. Beside any other document the upsert fails, because its id is taken.
  const filter = { _id: id, writeId: row.writeId } as Filter<Row>
  return unlessTaken(async () => {
    const { matchedCount, upsertedCount } = await collection.updateOne(filter, update as never, {
      upsert: true,
    })
    return matchedCount + upsertedCount > 0
  })
}

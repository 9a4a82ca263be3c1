import type { Filter, FindOptions } from 'mongodb'
import { recordOf } from '../rows.ts'
import { firstToFree, mostDropped, type Store, type StoreRecord } from '../store.ts'
import { collectionOf, type Rows } from './collections.ts'
import type { MongoConnection } from './connection.ts'
import { rowOf } from './queries.ts'

/** Deletes records that are over. No TTL index does so, because the ICL's clock alone decides what has expired. */
export function pruning({ run }: MongoConnection) {
  const remove = async <Kind extends 'job' | 'key' | 'blob'>(
    kind: Kind,
    over: Filter<Rows[`${Kind}s`]>,
    limit: number,
  ): Promise<number> => {
    const options = { projection: { _id: 1 }, limit }
    const where = over as Filter<{ readonly _id: string }>
    const rows = await run((all) => collectionOf(all, kind).find(where, options).toArray())
    if (rows.length === 0) return 0
    // Repeats the condition for each document: one may have been renewed meanwhile.
    const these = { ...where, _id: { $in: rows.map(({ _id }) => _id) } }
    const { deletedCount } = await run((all) => collectionOf(all, kind).deleteMany(these))
    return deletedCount
  }
  return {
    prune: async ({ now, settledBefore, limit }) => {
      const jobs = await remove('job', { settledAt: { $lt: settledBefore }, effects: 0 }, limit)
      const keys = await remove('key', { expiresAt: { $lte: now } }, limit)
      return jobs + keys + (await remove('blob', { until: { $lte: now } }, limit))
    },
    dropBlobs: async (uploader, bytes, now) => {
      const unused = { uploader, usedUntil: { $lte: now } }
      const found = await run(({ blobs }) =>
        blobs
          .find(unused, { projection: { size: 1 }, limit: mostDropped })
          .sort({ answered: 1, usedUntil: 1 })
          .toArray(),
      )
      const first = firstToFree(
        found.map(({ _id: cid, size }) => ({ cid, size })),
        bytes,
      )
      if (first.length === 0) return []
      const these = { _id: { $in: first.map(({ cid }) => cid) } }
      // A job may have begun to use one meanwhile.
      await run(({ blobs }) => blobs.deleteMany({ ...unused, ...these }))
      const rows = await run(({ blobs }) => blobs.find(these, { projection: { _id: 1 } }).toArray())
      const left = new Set(rows.map(({ _id }) => _id))
      return first.filter(({ cid }) => !left.has(cid))
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

/** Yields all rows of a kind, page by page, so that a broken connection costs one page's retry. */
export async function* pagesOf(
  { run }: MongoConnection,
  kind: StoreRecord['kind'],
  options: FindOptions = {},
) {
  let after: string | undefined = ''
  while (after !== undefined) {
    const where: Filter<{ readonly _id: string }> = { _id: { $gt: after } }
    const page = await run((all) =>
      collectionOf(all, kind)
        .find(where, { sort: { _id: 1 }, limit: pageSize, ...options })
        .toArray(),
    )
    if (page.length > 0) yield page
    after = page.at(-1)?._id
  }
}

/** Yields every record for a backup. Throws for an unreadable one unless there is `onUnreadable`. */
export async function* scanAll(
  connection: MongoConnection,
  onUnreadable?: (error: unknown) => void,
): AsyncGenerator<StoreRecord> {
  for (const kind of ['job', 'node', 'client', 'event', 'key', 'blob'] as const) {
    const options = { promoteBuffers: true, ...(kind === 'blob' && { limit: blobPageSize }) }
    for await (const page of pagesOf(connection, kind, options)) {
      for (const row of page.map(rowOf)) {
        if (row.value === null || row.gone !== undefined) continue
        try {
          yield recordOf(kind, row)
        } catch (error) {
          if (!onUnreadable) throw error
          onUnreadable(error)
        }
      }
    }
  }
}

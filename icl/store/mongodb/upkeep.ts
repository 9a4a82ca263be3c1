import type { Filter, FindOptions } from 'mongodb'
import { behindPrefix, numberOf, recordOf, textOf } from '../rows.ts'
import { firstToFree, mostDropped, type Store, type StoreRecord } from '../store.ts'
import { type Row, rowId } from './collections.ts'
import type { MongoConnection } from './connection.ts'
import { rowOf } from './queries.ts'

/** Deletes records that are over. No TTL index does so, because the ICL's clock alone decides what has expired. */
export function pruning({ run }: MongoConnection) {
  const remove = async (
    kind: 'job' | 'key' | 'blob',
    over: Filter<Row>,
    limit: number,
  ): Promise<number> => {
    const options = { projection: { _id: 1 }, limit }
    const where = { ...over, kind }
    const rows = await run(({ records }) => records.find(where, options).toArray())
    if (rows.length === 0) return 0
    // Repeats the condition for each document: one may have been renewed meanwhile.
    const these = { ...where, _id: { $in: rows.map(({ _id }) => _id) } }
    const { deletedCount } = await run(({ records }) => records.deleteMany(these))
    return deletedCount
  }
  return {
    prune: async ({ now, settledBefore, limit }) => {
      const jobs = await remove('job', { settledAt: { $lt: settledBefore }, effects: 0 }, limit)
      const keys = await remove('key', { expiresAt: { $lte: now } }, limit)
      return jobs + keys + (await remove('blob', { until: { $lte: now } }, limit))
    },
    dropBlobs: async (uploader, bytes, now) => {
      const unused = { kind: 'blob', uploader, usedUntil: { $lte: now } }
      const found = await run(({ records }) =>
        records
          .find(unused, { projection: { size: 1 }, limit: mostDropped })
          .sort({ answered: 1, usedUntil: 1 })
          .toArray(),
      )
      const first = firstToFree(
        found.map(rowOf).map((row) => ({ cid: textOf(row, 'id'), size: numberOf(row, 'size') })),
        bytes,
      )
      if (first.length === 0) return []
      const these = { _id: { $in: first.map(({ cid }) => rowId('blob', cid)) } }
      // A job may have begun to use one meanwhile.
      await run(({ records }) => records.deleteMany({ ...unused, ...these }))
      const rows = await run(({ records }) =>
        records.find(these, { projection: { _id: 1 } }).toArray(),
      )
      const left = new Set(rows.map(({ _id }) => _id))
      return first.filter(({ cid }) => !left.has(rowId('blob', cid)))
    },
    // Returns false when a first attempt erased the record and its answer was lost: the retry does not find it.
    erase: async (record) => {
      const [id, where] =
        record.kind === 'job'
          ? [record.id, { settledAt: { $ne: null }, effects: 0 }]
          : [record.kind === 'client' ? record.address : record.cid, {}]
      const { deletedCount } = await run(({ records }) =>
        records.deleteOne({ _id: rowId(record.kind, id), ...where }),
      )
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
  let after: string | undefined = rowId(kind, '')
  const end = behindPrefix(after)
  while (after !== undefined) {
    const where: Filter<Row> = { _id: { $gt: after, $lt: end } }
    const page: Row[] = await run(({ records }) =>
      records.find(where, { sort: { _id: 1 }, limit: pageSize, ...options }).toArray(),
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

import {
  Binary,
  type Collection,
  type Db,
  type Document,
  type Filter,
  type IndexDescription,
} from 'mongodb'
import { SvcError } from '../../../lib/svc-error.ts'
import { encodeDocument } from '../encoding.ts'
import { indexOfJob } from '../job-index.ts'
import { idOf, type Keep, type StoreRecord, sizeOf } from '../store.ts'
import { unlessTaken } from './taken.ts'

type RecordOf<Kind extends StoreRecord['kind']> = Extract<StoreRecord, { kind: Kind }>

/** How long a row keeps its blob. */
export const keepFields = ({ until, usedUntil = 0, isAnswered }: Keep) => ({
  until,
  usedUntil,
  answered: Number(isAnswered ?? false),
})

/** What a row has of a record, besides its id, its version and the id of its save. Times in milliseconds, null where there is none. */
export const fields = {
  job: ({ job }: RecordOf<'job'>) => {
    const { settledAt, tickAt, effectsDueAt, occupied, ...index } = indexOfJob(job)
    return {
      ...index,
      document: encodeDocument(job),
      settledAt: settledAt ?? null,
      tickAt: tickAt ?? null,
      effectsDueAt: effectsDueAt ?? null,
      /** `offered:ADDRESS` or `claimed:ADDRESS` for each occupied slot. */
      occupied: occupied.map(({ node, status }) => `${status}:${node}`),
    }
  },
  node: ({ node }: RecordOf<'node'>) => ({
    document: encodeDocument(node),
    certificateExpiresAt: node.certificate.expiresAt,
  }),
  client: ({ client }: RecordOf<'client'>) => ({ document: encodeDocument(client) }),
  event: ({ event }: RecordOf<'event'>) => ({
    node: event.node,
    at: event.at,
    document: encodeDocument(event),
  }),
  /** The value is null once released. The row stays until it is pruned, so that a repeated release is recognized. */
  key: ({ value, expiresAt }: { readonly value: string | null; readonly expiresAt: number }) => ({
    value,
    expiresAt,
  }),
  blob: (blob: RecordOf<'blob'>) => ({
    bytes: new Binary(blob.bytes),
    size: sizeOf(blob),
    uploader: blob.uploader,
    ...keepFields(blob),
  }),
}

/** A row: a record of any kind, whose `_id` has its kind and id, or the owner of the database. All are in one collection, so that one command makes a save. */
export type Row = Document & { readonly _id: string }

/** The collections of a store. */
export type MongoCollections = { readonly records: Collection<Row> }

/** Returns the `_id` of a record's row. */
export const rowId = (kind: StoreRecord['kind'], id: string): string => `${kind}:${id}`

/**
 * Stores a record under the id of its save in place of the row that a filter finds, or of none. False when another row has the id
 * already.
 */
export const putRow = (
  { records }: MongoCollections,
  record: StoreRecord,
  writeId: string,
  others: Filter<Row>,
): Promise<boolean> =>
  unlessTaken(async () => {
    const filter = { _id: rowId(record.kind, idOf(record)), ...others }
    await records.updateOne(filter, updateTo(record, { writeId }), { upsert: true })
    return true
  })

/** The update that makes a row that of a record. */
export function updateTo(record: StoreRecord, others: object) {
  const { kind } = record
  const fieldsOf = fields[kind] as (record: StoreRecord) => object
  if (!('version' in record)) return { $set: { kind, ...fieldsOf(record), ...others } }
  const $set = { kind, ...fieldsOf(record), version: record.version, ...others }
  return { $set, $currentDate: { changed: { $type: 'timestamp' } } } as const
}

/** The index of jobs by phase. */
export const phaseIndex = { kind: 1, phase: 1, createdAt: 1, _id: 1 } as const

// Ids need no index here: `_id` has one, which is unique.
const indexes: Partial<Record<StoreRecord['kind'], readonly Record<string, 1 | -1>[]>> = {
  job: [
    { tickAt: 1 },
    { effectsDueAt: 1 },
    { settledAt: 1 },
    { occupied: 1 },
    { client: 1, createdAt: 1, _id: 1 },
    { client: 1, settledAt: 1 },
    { createdAt: 1, _id: 1 },
    phaseIndex,
  ],
  node: [{ certificateExpiresAt: 1 }],
  event: [{ node: 1, at: 1, _id: 1 }],
  key: [{ expiresAt: 1 }],
  blob: [{ uploader: 1, answered: 1, usedUntil: 1, size: 1 }, { until: 1 }],
}

export const collectionsOf = (db: Db): MongoCollections => ({ records: db.collection('records') })

type FormatRow = { readonly _id: string; readonly version: number }

const format = { _id: 'store', version: 4 }

/** Creates what is missing; idempotent, even from many processes. Throws SvcError `store-format` for data of another version. */
export async function prepareDatabase(db: Db): Promise<void> {
  const formats = db.collection<FormatRow>('format')
  // Many processes may start on an empty database at the same moment.
  const made = { $setOnInsert: { version: format.version } }
  await unlessTaken(() => formats.updateOne({ _id: format._id }, made, { upsert: true }))
  const found = await formats.findOne({ _id: format._id })
  if (found?.version !== format.version) {
    throw new SvcError(
      'store-format',
      `The database has format ${found?.version}, not ${format.version}`,
      {
        hint: 'Another version of this program made it. Start that one, or name another database.',
      },
    )
  }
  // Each has the rows of one kind, as all reads name theirs. Before version 7 the server looks for the kind in the row, unless it is in
  // the index: counts and sums would read every job and blob whole.
  const ofKinds = Object.entries(indexes).flatMap(([kind, keys]) =>
    keys.map((key) => ({ key: { kind: 1, ...key }, partialFilterExpression: { kind } })),
  )
  // Sparse: few rows are gone, and only documents have a time of change.
  const ofAll = [{ gone: 1 }, { changed: 1 }].map((key) => ({ key, sparse: true }))
  await db.collection('records').createIndexes([...ofKinds, ...ofAll] as IndexDescription[])
}

import { Binary, type Collection, type Db, type Timestamp } from 'mongodb'
import { SvcError } from '../../../lib/svc-error.ts'
import { encodeDocument } from '../encoding.ts'
import { indexOfJob } from '../job-index.ts'
import type { Owner } from '../mirror/follower.ts'
import { type Keep, type StoreRecord, sizeOf } from '../store.ts'
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

type Row<Kind extends StoreRecord['kind']> = ReturnType<(typeof fields)[Kind]> & {
  readonly _id: string
  readonly writeId: string
}

/** The rows of each collection. */
export type Rows = {
  /** `changed` is the server's cluster time of the last save. */
  readonly jobs: Row<'job'> & { readonly version: number; readonly changed: Timestamp }
  readonly nodes: Row<'node'> & { readonly version: number }
  readonly clients: Row<'client'> & { readonly version: number }
  readonly events: Row<'event'>
  readonly keys: Row<'key'>
  readonly blobs: Row<'blob'>
  /** One document, `owner`. */
  readonly owners: Owner & { readonly _id: string }
}

/** The collections of a store. */
export type MongoCollections = { readonly [Name in keyof Rows]: Collection<Rows[Name]> }

type AnyRow = {
  readonly _id: string
  readonly writeId: string
  readonly version?: number
  /** The number of the record's last change, where the database follows a file. */
  readonly seq?: number
  /** When the record went, in milliseconds; the row keeps its number for a while. */
  readonly gone?: number
}

/** Returns the collection of a kind of record, for what all kinds have in common. */
export const collectionOf = (all: MongoCollections, kind: StoreRecord['kind']) =>
  all[`${kind}s`] as unknown as Collection<AnyRow>

/**
 * Stores a record under the id of its save in place of the row that a filter finds, or of none with `upsert`. False when it finds
 * none, or when another row has the id already.
 */
export function putRow(
  all: MongoCollections,
  record: StoreRecord,
  writeId: string,
  filter: { readonly _id: string; readonly writeId?: string; readonly version?: number },
  upsert: boolean,
): Promise<boolean> {
  const update = updateTo(record, { writeId })
  return unlessTaken(async () => {
    const done = await collectionOf(all, record.kind).updateOne(filter, update as never, { upsert })
    return done.matchedCount + done.upsertedCount > 0
  })
}

/** The update that makes a row that of a record. */
export function updateTo(record: StoreRecord, others: object) {
  const fieldsOf = fields[record.kind] as (record: StoreRecord) => object
  const version = 'version' in record ? { version: record.version } : {}
  const $set = { ...fieldsOf(record), ...version, ...others }
  const stamp = { $currentDate: { changed: { $type: 'timestamp' } } }
  return record.kind === 'job' ? { $set, ...stamp } : { $set }
}

/** The index of jobs by phase. */
export const phaseIndex = { phase: 1, createdAt: -1, _id: -1 } as const

// Ids need no index here: `_id` has one, which is unique.
const indexes: Record<keyof MongoCollections, readonly Record<string, 1 | -1>[]> = {
  jobs: [
    { tickAt: 1 },
    { effectsDueAt: 1 },
    { settledAt: 1 },
    { occupied: 1 },
    { client: 1, createdAt: -1, _id: -1 },
    { client: 1, settledAt: 1 },
    { createdAt: -1, _id: -1 },
    phaseIndex,
    { changed: 1 },
  ],
  nodes: [{ certificateExpiresAt: 1 }],
  clients: [],
  events: [{ node: 1, at: 1, _id: 1 }],
  keys: [{ expiresAt: 1 }],
  blobs: [{ uploader: 1, answered: 1, usedUntil: 1, size: 1 }, { until: 1 }],
  owners: [],
}

export const collectionsOf = (db: Db): MongoCollections =>
  Object.fromEntries(
    Object.keys(indexes).map((name) => [name, db.collection(name)]),
  ) as unknown as MongoCollections

type FormatRow = { readonly _id: string; readonly version: number }

const format = { _id: 'store', version: 3 }

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
  for (const [name, keys] of Object.entries(indexes)) {
    // Sparse: few rows are gone, and reads of the others have better indexes.
    const gone = { key: { gone: 1 }, sparse: true } as const
    await db.collection(name).createIndexes([...keys.map((key) => ({ key })), gone])
  }
}

import {
  Binary,
  type Collection,
  type Filter,
  type MatchKeysAndValues,
  type UpdateFilter,
} from 'mongodb'
import { ProblemError } from '../../lib/problem.ts'
import {
  clientFieldsOf,
  eventRowOf,
  jobFieldsOf,
  type KeyRow,
  type MongoCollections,
  nodeFieldsOf,
} from './mongodb-collections.ts'
import { unlessTaken } from './mongodb-taken.ts'
import type { Write } from './store.ts'

/** One attempt of a save; `mayBeDone` when an earlier one may have gone through unheard. */
export type Attempt = {
  readonly writeId: string
  readonly mayBeDone: boolean
  readonly retried: boolean
}

/** Carries out a save in one command on one document; only a refused one that may be done already is looked up afterwards. */
export async function saveOnce(
  collections: MongoCollections,
  write: Write,
  attempt: Attempt,
): Promise<boolean> {
  const { jobs, nodes, clients } = collections
  switch (write.kind) {
    case 'job':
      return saveVersioned(jobs, write.job.id, jobFieldsOf(write.job), write.base, attempt, {
        $currentDate: { changed: { $type: 'timestamp' } },
      })
    case 'node':
      return saveVersioned(nodes, write.node.address, nodeFieldsOf(write.node), write.base, attempt)
    case 'client': {
      const { client, base } = write
      return saveVersioned(clients, client.address, clientFieldsOf(client), base, attempt)
    }
    case 'event':
      return saveEvent(collections, write, attempt)
    case 'key':
      return saveKey(collections, write, attempt)
    case 'release-key':
      return releaseKey(collections, write, attempt)
    case 'blob':
      return saveBlob(collections, write, attempt)
    case 'keep-blob': {
      const { matchedCount } = await collections.blobs.updateOne(
        { _id: write.cid },
        { $max: { until: write.until } },
      )
      return matchedCount === 1
    }
  }
}

type VersionedRow = { readonly _id: string; readonly version: number; readonly writeId: string }

async function saveVersioned<Row extends VersionedRow>(
  collection: Collection<Row>,
  id: string,
  fields: Omit<Row, '_id' | 'version' | 'writeId' | 'changed'>,
  base: number,
  { writeId, mayBeDone, retried }: Attempt,
  also: UpdateFilter<Row> = {},
): Promise<boolean> {
  const filter = { _id: id, version: base } as Filter<Row>
  const $set = { ...fields, version: base + 1, writeId } as unknown as MatchKeysAndValues<Row>
  // No document has version 0: a new one is inserted, and refused by its id when there is one.
  const saved = await unlessTaken(async () => {
    const done = await collection.updateOne(filter, { ...also, $set }, { upsert: base === 0 })
    return done.matchedCount + done.upsertedCount > 0
  })
  if (saved || !mayBeDone) return saved
  const held = await collection.findOne({ _id: id } as Filter<Row>)
  if (held?.writeId === writeId) return true
  // Saved here unheard, and then by others? Neither answer could be known to be true.
  if (retried && held && held.version > base + 1) throw unknownOutcome()
  return false
}

const unknownOutcome = () =>
  new ProblemError('unavailable', 'It is not known whether this was saved; look again', {
    retryAfterSeconds: 1,
  })

async function saveEvent(
  { events }: MongoCollections,
  { event }: Extract<Write, { kind: 'event' }>,
  { writeId, mayBeDone }: Attempt,
): Promise<boolean> {
  const saved = await unlessTaken(async () => {
    const { acknowledged } = await events.insertOne(eventRowOf(event, writeId))
    return acknowledged
  })
  if (saved || !mayBeDone) return saved
  return (await events.findOne({ _id: event.id, writeId })) !== null
}

async function saveKey(
  { keys }: MongoCollections,
  { key, value, now, expiresAt }: Extract<Write, { kind: 'key' }>,
  { writeId }: Attempt,
): Promise<boolean> {
  const free: Filter<KeyRow> = { _id: key, $or: [{ value }, { expiresAt: { $lte: now } }] }
  const update = { $set: { value, expiresAt, writeId } }
  const take = (upsert: boolean) => async () => {
    const done = await keys.updateOne(free, update, { upsert })
    return done.matchedCount + done.upsertedCount > 0
  }
  // Somebody who inserts it in the same moment may do so for the same value: then this renews it.
  return (await unlessTaken(take(true))) || take(false)()
}

/** Earlier than any time that somebody may ask about. */
const never = Number.MIN_SAFE_INTEGER

async function releaseKey(
  { keys }: MongoCollections,
  { key, value }: Extract<Write, { kind: 'release-key' }>,
  { writeId, mayBeDone }: Attempt,
): Promise<boolean> {
  const { matchedCount } = await keys.updateOne(
    { _id: key, value },
    { $set: { value: null, expiresAt: never, writeId } },
  )
  if (matchedCount === 1) return true
  return mayBeDone && (await keys.findOne({ _id: key, value: null, writeId })) !== null
}

async function saveBlob(
  { blobs }: MongoCollections,
  { cid, bytes, uploader, until }: Extract<Write, { kind: 'blob' }>,
  { writeId }: Attempt,
): Promise<boolean> {
  const row = { bytes: new Binary(bytes), size: bytes.length, uploader, writeId }
  const put = async () => {
    await blobs.updateOne({ _id: cid }, { $max: { until }, $setOnInsert: row }, { upsert: true })
    return true
  }
  return (await unlessTaken(put)) || put()
}

/*
 * Problem: some commands change several documents at once, and not every server that speaks MongoDB's protocol has
 * transactions.
 *
 * Idea: the writes run one by one, in an order that is safe to interrupt and to repeat. The store first checks that the
 * keys to be released are held. Then it makes the writes that only reserve or add: keys, blobs, events. Then it saves the
 * one document with a version, which decides the save. Last it releases keys, which cannot be refused any more.
 *
 * Invariants:
 * - When a write is refused, up to and including the document, no later write is made, and earlier ones are undone: the
 *   events that this save inserted, and the keys that it gave to a new value. A key goes back to its former value unless
 *   another save has renewed it since. Rows of both carry the id of their save.
 * - A repeated save whose document already has its id is done, even if one of its writes is refused now. Whatever the
 *   repeat adds is what the first attempt added.
 *
 * Failure cases: a process that dies in between leaves keys with their new value until they expire, an event without its
 * document, or a key that should have been released. A caller that repeats the command finds its own keys, saves the
 * document without the event that is there, and releases the keys. Other readers may see a key or an event a moment
 * before the document.
 */

import {
  Binary,
  type Collection,
  type Filter,
  type MatchKeysAndValues,
  type UpdateFilter,
} from 'mongodb'
import { ProblemError } from '../../../lib/problem.ts'
import { documentIn, type VersionedWrite, versionOf, type Write } from '../store.ts'
import {
  clientFieldsOf,
  eventRowOf,
  jobFieldsOf,
  type KeyRow,
  type MongoCollections,
  nodeFieldsOf,
} from './collections.ts'
import { unlessTaken } from './taken.ts'

/** One attempt at a save; `mayBeDone` when an earlier attempt may have succeeded without an answer. */
export type Attempt = {
  readonly writeId: string
  readonly mayBeDone: boolean
  readonly retried: boolean
}

/** Makes one write, usually with one command. A refused write that may be done already is looked up afterwards. */
export async function saveOnce(
  collections: MongoCollections,
  write: Write,
  attempt: Attempt,
): Promise<boolean> {
  const { jobs, nodes, clients } = collections
  switch (write.kind) {
    case 'job':
      return saveVersioned(jobs, attempt, {
        ...{ id: write.job.id, write, fields: jobFieldsOf(write.job) },
        also: { $currentDate: { changed: { $type: 'timestamp' } } },
      })
    case 'node': {
      const { node } = write
      return saveVersioned(nodes, attempt, { id: node.address, write, fields: nodeFieldsOf(node) })
    }
    case 'client': {
      const { client } = write
      const fields = clientFieldsOf(client)
      return saveVersioned(clients, attempt, { id: client.address, write, fields })
    }
    case 'event':
      return (await addEvents(collections, [write], attempt)) === undefined
    case 'key':
      return (await takeKey(collections, write, attempt)) !== undefined
    case 'release-key':
      return releaseKey(collections, write, attempt)
    case 'blob':
      return saveBlob(collections, write, attempt)
    case 'keep-blob': {
      const { matchedCount } = await collections.blobs.updateOne(
        { _id: write.cid },
        { $max: { until: write.until } },
      )
      return matchedCount === 1 || write.mayBeAbsent === true
    }
  }
}

/** Makes several writes in the order above; returns the refused one. */
export async function saveAllOnce(
  collections: MongoCollections,
  writes: readonly Write[],
  attempt: Attempt,
): Promise<Write | undefined> {
  const document = documentIn(writes)
  const releases = writes.filter((write) => write.kind === 'release-key')
  const refused = await saveBeforeReleases(collections, { writes, releases, document }, attempt)
  if (refused) return refused
  for (const write of releases) await releaseKey(collections, write, attempt)
  return undefined
}

type Parts = {
  readonly writes: readonly Write[]
  readonly releases: readonly Extract<Write, { kind: 'release-key' }>[]
  readonly document: VersionedWrite | undefined
}

async function saveBeforeReleases(
  collections: MongoCollections,
  { writes, releases, document }: Parts,
  attempt: Attempt,
): Promise<Write | undefined> {
  const taken: Taken[] = []
  const refuse = async (write: Write): Promise<Write | undefined> => {
    // An earlier attempt may have saved everything before the connection broke.
    if (document && attempt.mayBeDone && (await isSaved(collections, document, attempt))) return
    await takeBack(collections, taken, attempt)
    return write
  }
  for (const write of releases) {
    const isHeld = await collections.keys.findOne({ _id: write.key, value: write.value })
    if (!isHeld) return refuse(write)
  }
  for (const write of writes) {
    if (write === document || write.kind === 'release-key' || write.kind === 'event') continue
    const outcome =
      write.kind === 'key'
        ? await takeKey(collections, write, attempt)
        : (await saveOnce(collections, write, attempt)) && nobody
    if (!outcome) return refuse(write)
    if (outcome !== 'renewed') taken.push({ write, former: outcome })
  }
  const events = writes.filter((write) => write.kind === 'event')
  taken.push(...events.map((write) => ({ write, former: nobody })))
  const known = await addEvents(collections, events, attempt)
  if (known) return refuse(known)
  const isDone = !document || (await saveOnce(collections, document, attempt))
  return isDone ? undefined : refuse(document)
}

async function isSaved(
  { jobs, nodes, clients }: MongoCollections,
  write: VersionedWrite,
  { writeId }: Attempt,
): Promise<boolean> {
  if (write.kind === 'job') return (await jobs.findOne({ _id: write.job.id, writeId })) !== null
  if (write.kind === 'node') {
    return (await nodes.findOne({ _id: write.node.address, writeId })) !== null
  }
  return (await clients.findOne({ _id: write.client.address, writeId })) !== null
}

/** A write that was made; for a key, with its former value. */
type Taken = { readonly write: Write; readonly former: Former }

/** Undoes events and keys that still have the id of this save; other saves may have renewed them since. */
async function takeBack(
  { keys, events }: MongoCollections,
  taken: readonly Taken[],
  { writeId }: Attempt,
): Promise<void> {
  for (const { write, former } of taken) {
    if (write.kind === 'event') await events.deleteOne({ _id: write.event.id, writeId })
    if (write.kind === 'key') {
      const mine = { _id: write.key, value: write.value, writeId }
      const { value, expiresAt } = former
      await keys.updateOne(mine, { $set: { value, expiresAt } })
    }
  }
}

type VersionedRow = { readonly _id: string; readonly version: number; readonly writeId: string }

/** A save of a document's `fields` on top of the version that `write` names; `also` is a further update of the row. */
type Versioned<Row> = {
  readonly id: string
  readonly write: VersionedWrite
  readonly fields: Omit<Row, '_id' | 'version' | 'writeId' | 'changed'>
  readonly also?: UpdateFilter<Row>
}

async function saveVersioned<Row extends VersionedRow>(
  collection: Collection<Row>,
  { writeId, mayBeDone, retried }: Attempt,
  { id, write, fields, also }: Versioned<Row>,
): Promise<boolean> {
  const { base } = write
  const version = versionOf(write)
  const filter = { _id: id, version: base } as Filter<Row>
  const $set = { ...fields, version, writeId } as unknown as MatchKeysAndValues<Row>
  // No document has version 0, so a new one is inserted, and the unique id refuses it when there is one already.
  const saved = await unlessTaken(async () => {
    const done = await collection.updateOne(filter, { ...also, $set }, { upsert: base === 0 })
    return done.matchedCount + done.upsertedCount > 0
  })
  if (saved || !mayBeDone) return saved
  const held = await collection.findOne({ _id: id } as Filter<Row>)
  if (held?.writeId === writeId) return true
  // This save may have succeeded without an answer before another one: neither true nor false is certain.
  if (retried && held && held.version > version) throw unknownOutcome()
  return false
}

const unknownOutcome = () =>
  new ProblemError('unavailable', 'It is not known whether this was saved. Check again', {
    retryAfterSeconds: 1,
  })

type EventWrite = Extract<Write, { kind: 'event' }>

/** Adds events with one command; returns one that was there already. */
async function addEvents(
  { events }: MongoCollections,
  writes: readonly EventWrite[],
  { writeId }: Attempt,
): Promise<EventWrite | undefined> {
  if (writes.length === 0) return undefined
  const rows = writes.map(({ event }) => eventRowOf(event, writeId))
  // Events that are there already do not stop the others from being added.
  if (await unlessTaken(() => events.insertMany(rows, { ordered: false }))) return undefined
  const own = { _id: { $in: rows.map(({ _id }) => _id) }, writeId }
  const added = await events.find(own, { projection: { _id: 1 } }).toArray()
  const ids = new Set<string>(added.map(({ _id }) => _id))
  return writes.find(({ event }) => !ids.has(event.id))
}

/** A time before any that a caller asks about. */
const never = Number.MIN_SAFE_INTEGER

/** The former value of a key, and its expiry. */
type Former = Pick<KeyRow, 'value' | 'expiresAt'>
const nobody: Former = { value: null, expiresAt: never }

/** Gives a key to a value. Returns the former value, `renewed` when the value has it already, or undefined while another has it. */
async function takeKey(
  { keys }: MongoCollections,
  { key, value, insteadOf, now, expiresAt }: Extract<Write, { kind: 'key' }>,
  { writeId }: Attempt,
): Promise<'renewed' | Former | undefined> {
  const held = insteadOf === undefined ? [{ value }] : [{ value }, { value: insteadOf }]
  const free: Filter<KeyRow> = { _id: key, $or: [...held, { expiresAt: { $lte: now } }] }
  const update = { $set: { value, expiresAt, writeId } }
  const take = async (upsert: boolean) => {
    const before = await keys.findOneAndUpdate(free, update, { upsert })
    if (before === null) return upsert ? nobody : undefined
    return before.value === value ? 'renewed' : before
  }
  // Another insert at the same moment may be of the same value: then this one renews the key.
  return (await unlessTaken(() => take(true))) || take(false)
}

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

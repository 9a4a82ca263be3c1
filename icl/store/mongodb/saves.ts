/*
 * Problem: some commands change several documents at once, and not every server that speaks MongoDB's protocol has
 * transactions.
 *
 * Idea: several writes are done one by one, in an order that is safe to break off and to repeat. First a look whether
 * the keys to be released are held. Then what only reserves or adds: keys, blobs, events. Then the one document with a
 * version, which decides: with it, all is done. Last the releases of keys, which nobody can refuse any more.
 *
 * Invariants:
 * - When a write is refused before or at the document, nothing after it is done, and what was added before is taken
 *   back: an event that this save inserted, and a key that was not its holder's before and that nobody renewed since,
 *   which its former holder gets back. Both are told by the id of the save, which is in their rows.
 * - A repeated save whose document has its id already is done, whatever of it is refused by now: what it adds once more
 *   is what it added before.
 *
 * Failure cases: a process that dies in between leaves keys that are held for what their value names until they
 * expire, an event without its document, or a key that should have been released. Repeating the command finds its own
 * key, saves the document without the event that is there, and releases again. Others may see a key or an event a
 * moment before the document.
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

/** Carries out several writes in the order above; returns the one that was refused. */
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
    // What a broken connection has kept from being heard is done, whatever others have done since.
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

/** A write that is done, and of a key, who had it before. */
type Taken = { readonly write: Write; readonly former: Former }

/** Only what has the id of this save: what others have renewed since is theirs. */
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

/** A document as it is saved on top of what `write` names; `also` changes what is not the document's. */
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
  // No document has version 0: a new one is inserted, and refused by its id when there is one.
  const saved = await unlessTaken(async () => {
    const done = await collection.updateOne(filter, { ...also, $set }, { upsert: base === 0 })
    return done.matchedCount + done.upsertedCount > 0
  })
  if (saved || !mayBeDone) return saved
  const held = await collection.findOne({ _id: id } as Filter<Row>)
  if (held?.writeId === writeId) return true
  // Saved here unheard, and then by others? Neither answer could be known to be true.
  if (retried && held && held.version > version) throw unknownOutcome()
  return false
}

const unknownOutcome = () =>
  new ProblemError('unavailable', 'It is not known whether this was saved. Check again', {
    retryAfterSeconds: 1,
  })

type EventWrite = Extract<Write, { kind: 'event' }>

/** Adds events with one command; returns one that was there. */
async function addEvents(
  { events }: MongoCollections,
  writes: readonly EventWrite[],
  { writeId }: Attempt,
): Promise<EventWrite | undefined> {
  if (writes.length === 0) return undefined
  const rows = writes.map(({ event }) => eventRowOf(event, writeId))
  // Those that are there do not keep the others from being added.
  if (await unlessTaken(() => events.insertMany(rows, { ordered: false }))) return undefined
  const own = { _id: { $in: rows.map(({ _id }) => _id) }, writeId }
  const added = await events.find(own, { projection: { _id: 1 } }).toArray()
  const ids = new Set<string>(added.map(({ _id }) => _id))
  return writes.find(({ event }) => !ids.has(event.id))
}

/** Earlier than any time a caller may ask about. */
const never = Number.MIN_SAFE_INTEGER

/** Who had a key until when. */
type Former = Pick<KeyRow, 'value' | 'expiresAt'>
const nobody: Former = { value: null, expiresAt: never }

/** Gives a key to its new holder, and returns its former one; `renewed` when it has it already, undefined while another does. */
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
  // Another insert in the same moment may be of the same value: then this renews it.
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

/*
 * Problem: some commands change several documents at once, and not every server that speaks MongoDB's protocol has
 * transactions.
 *
 * Idea: the writes run one by one, in an order that is safe to interrupt and to repeat. First the store checks that the
 * keys to be released are held. Then it writes what only reserves or adds: keys, blobs, events. Then it saves the one
 * document with a version, which decides the save. Last it releases keys, which cannot be refused any more.
 *
 * Invariants:
 * - When a write up to the document is refused, no later one is made. The events that this save inserted and the keys that
 *   it gave to a new value are taken back, unless another save has renewed them since: rows carry the id of their save.
 * - A repeated save whose document already has its id is done, even if one of its writes is refused now. Whatever the
 *   repeat adds is what the first attempt added.
 *
 * Failure cases: a process that dies in between leaves keys with their new value until they expire, an event without its
 * document, or a key that should have been released. A caller that repeats the command finds its own keys, saves the
 * document without the event that is there, and releases the keys. Other readers may see a key or an event a moment
 * before the document.
 */

import type { Filter } from 'mongodb'
import { ProblemError } from '../../../lib/problem.ts'
import {
  documentIn,
  idOf,
  recordBy,
  type StoreRecord,
  type VersionedWrite,
  type Write,
  type WriteOf,
} from '../store.ts'
import {
  collectionOf,
  fields,
  keepFields,
  type MongoCollections,
  putRow,
  type Rows,
} from './collections.ts'
import { unlessTaken } from './taken.ts'

/** One attempt at a save; `retried` when an earlier attempt may have succeeded without an answer. */
export type Attempt = { readonly writeId: string; readonly retried: boolean }

/** Makes one write, usually with one command. A refused write that may be done already is looked up afterwards. */
export async function saveOnce(
  collections: MongoCollections,
  write: Write,
  attempt: Attempt,
): Promise<boolean> {
  switch (write.kind) {
    case 'job':
    case 'node':
    case 'client':
      return saveDocument(collections, write, attempt)
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
        { $max: keepFields(write) },
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
  const refused = await saveBeforeReleases(collections, writes, attempt)
  if (refused) return refused
  for (const write of releasesIn(writes)) await releaseKey(collections, write, attempt)
  return undefined
}

const releasesIn = (writes: readonly Write[]): readonly WriteOf<'release-key'>[] =>
  writes.filter((write) => write.kind === 'release-key')

async function saveBeforeReleases(
  collections: MongoCollections,
  writes: readonly Write[],
  attempt: Attempt,
): Promise<Write | undefined> {
  const { keys } = collections
  const document = documentIn(writes)
  const taken: Taken[] = []
  const refuse = async (write: Write): Promise<Write | undefined> => {
    // An earlier attempt may have saved everything before the connection broke.
    if (document && attempt.retried && (await isSaved(collections, document, attempt))) return
    await takeBack(collections, taken, attempt)
    return write
  }
  for (const write of releasesIn(writes)) {
    if (!(await keys.findOne({ _id: write.key, value: write.value }))) return refuse(write)
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
  collections: MongoCollections,
  write: VersionedWrite,
  { writeId }: Attempt,
): Promise<boolean> {
  const saved = { _id: idOf(write), writeId }
  return (await collectionOf(collections, write.kind).findOne(saved)) !== null
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

async function saveDocument(
  collections: MongoCollections,
  write: VersionedWrite,
  { writeId, retried }: Attempt,
): Promise<boolean> {
  const _id = idOf(write)
  const { base } = write
  const record = recordBy(write)
  // No document has version 0, so a new one is inserted, and the unique id refuses it when there is one already.
  const saved = await putRow(collections, record, writeId, { _id, version: base }, base === 0)
  if (saved || !retried) return saved
  const held = await collectionOf(collections, write.kind).findOne({ _id })
  if (held?.writeId === writeId) return true
  // This save may have succeeded without an answer before another one: neither true nor false is certain.
  if ((held?.version ?? 0) > record.version) throw unknownOutcome()
  return false
}

const unknownOutcome = () =>
  new ProblemError('unavailable', 'It is not known whether this was saved. Check again', {
    retryAfterSeconds: 1,
  })

/** Adds events with one command; returns one that was there already. */
async function addEvents(
  { events }: MongoCollections,
  writes: readonly WriteOf<'event'>[],
  { writeId }: Attempt,
): Promise<Write | undefined> {
  if (writes.length === 0) return undefined
  const rows = writes.map((write) => ({ _id: write.event.id, writeId, ...fields.event(write) }))
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
type Former = Pick<Rows['keys'], 'value' | 'expiresAt'>
const nobody: Former = { value: null, expiresAt: never }

/** Gives a key to a value. Returns the former value, `renewed` when the value has it already, or undefined while another has it. */
async function takeKey(
  { keys }: MongoCollections,
  { key, value, insteadOf, now, expiresAt }: WriteOf<'key'>,
  { writeId }: Attempt,
): Promise<'renewed' | Former | undefined> {
  const held = insteadOf === undefined ? [{ value }] : [{ value }, { value: insteadOf }]
  const free: Filter<Rows['keys']> = { _id: key, $or: [...held, { expiresAt: { $lte: now } }] }
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
  { key, value }: WriteOf<'release-key'>,
  { writeId, retried }: Attempt,
): Promise<boolean> {
  const { matchedCount } = await keys.updateOne(
    { _id: key, value },
    { $set: { value: null, expiresAt: never, writeId } },
  )
  if (matchedCount === 1) return true
  return retried && (await keys.findOne({ _id: key, value: null, writeId })) !== null
}

async function saveBlob(
  { blobs }: MongoCollections,
  write: WriteOf<'blob'>,
  { writeId }: Attempt,
): Promise<boolean> {
  const { bytes, size, uploader } = fields.blob(write)
  const put = async () => {
    const $setOnInsert = { bytes, size, uploader, writeId }
    const update = { $max: keepFields(write), $setOnInsert }
    await blobs.updateOne({ _id: write.cid }, update, { upsert: true })
    return true
  }
  return (await unlessTaken(put)) || put()
}

/** Inserts a record unless there is one with its id; also true when the save with this write id inserted that one. */
export function restoreOnce(
  collections: MongoCollections,
  record: StoreRecord,
  writeId: string,
): Promise<boolean> {
  // Finds only a row of this write id, or that of a released key. Beside any other the upsert fails, because its id is taken.
  const own = record.kind === 'key' ? { $or: [{ writeId }, { value: null }] } : { writeId }
  return putRow(collections, record, writeId, { _id: idOf(record), ...own }, true)
}

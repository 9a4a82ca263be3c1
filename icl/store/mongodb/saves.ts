/*
 * Problem: some saves change several rows at once, and not every server that speaks MongoDB's protocol has transactions.
 *
 * Idea: a save is one command with an update for each row, which the server makes in order, up to the first one that it refuses. The
 * order is safe to interrupt and to repeat. First come checks that the keys to be released are held, then what only reserves or adds:
 * keys, blobs, events. Then comes the one document with a version, which decides the save. Last are the releases of keys, which
 * cannot be refused any more.
 *
 * Invariants:
 * - When a write up to the document is refused, no later one is made. The events that this save inserted and the keys that
 *   it gave to a new value are taken back, unless another save has renewed them since: rows carry the id of their save.
 * - A repeated save whose document already has its id is done, even if one of its writes is refused now. Whatever the
 *   repeat adds is what the first attempt added.
 *
 * Failure cases: a server that dies in between leaves keys with their new value until they expire, an event without its
 * document, or a key that should have been released. A caller that repeats the command finds its own keys, saves the
 * document without the event that is there, and releases the keys. Other readers may see a key or an event a moment
 * before the document.
 */

import type { AnyBulkWriteOperation, Document } from 'mongodb'
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
  fields,
  keepFields,
  type MongoCollections,
  putRow,
  type Row,
  rowId,
  updateTo,
} from './collections.ts'
import { firstRefused, orFail } from './taken.ts'

/** One attempt at a save; `retried` when an earlier attempt may have succeeded without an answer. */
export type Attempt = {
  readonly writeId: string
  readonly retried: boolean
  /** The id of the save that the document was read from, if it is known. */
  readonly base?: string | undefined
}

/** An update of the row of a write. One that has no update for a missing row (`upsert`) passes it over. */
type Step = {
  readonly write: Write
  readonly filter: object
  readonly update: Document | Document[]
  readonly upsert: boolean
}

/** Makes all writes with one command, or none of them; returns the refused one. A refusal is looked into with further commands. */
export async function saveAllOnce(
  collections: MongoCollections,
  writes: readonly Write[],
  attempt: Attempt,
): Promise<Write | undefined> {
  const { records } = collections
  const document = documentIn(writes)
  const steps = stepsOf(writes, document, attempt)
  if (steps.length === 0) return undefined
  let begin = 0
  for (let before = -1; ; ) {
    const from = begin
    const refused = await firstRefused(() => records.bulkWrite(steps.slice(from).map(modelOf)))
    if (refused === undefined) return undefined
    begin += refused
    const write = steps[begin]?.write
    if (write === undefined) throw new TypeError('The database refuses what was not sent')
    if ((write.kind === 'key' || write.kind === 'blob') && before !== begin) {
      // Another insert at the same moment may be of the same value or blob: then this one renews it.
      before = begin
      continue
    }
    if (attempt.retried && (await isDone(collections, write, document, attempt))) {
      // An earlier attempt saved the document before the connection broke.
      begin = steps.findIndex((step) => step.write === document) + 1
      before = begin
      if (begin === 0 || begin === steps.length) return undefined
      continue
    }
    await takeBack(collections, steps.slice(0, begin), attempt)
    return write
  }
}

const modelOf = ({ write, filter, update, upsert }: Step) => ({
  updateOne: { filter: { _id: rowOfWrite(write), ...filter }, update, upsert },
})

const kindOf = ({ kind }: Write): StoreRecord['kind'] => {
  if (kind === 'release-key') return 'key'
  return kind === 'keep-blob' ? 'blob' : kind
}

const rowOfWrite = (write: Write): string => rowId(kindOf(write), idOf(write))

/** A time before any that a caller asks about. */
const never = Number.MIN_SAFE_INTEGER

function stepsOf(
  writes: readonly Write[],
  document: VersionedWrite | undefined,
  attempt: Attempt,
): readonly Step[] {
  const { writeId } = attempt
  const releases = writes.filter((write) => write.kind === 'release-key')
  const checks = releases.map((write) => ({
    ...{ write, filter: { value: write.value }, update: orFail, upsert: true },
  }))
  // The value is null once released. The row stays until it is pruned, so that a repeated release is recognized.
  const free = { $set: { value: null, expiresAt: never, writeId } }
  const ends = releases.map((write) => ({
    ...{ write, filter: { value: write.value }, update: free, upsert: false },
  }))
  const others = (['key', 'blob', 'keep-blob', 'event'] as const).flatMap((kind) =>
    writes.flatMap((write) => (write.kind === kind ? stepOf(write as Adding, writeId) : [])),
  )
  return [...checks, ...others, ...(document ? [documentStep(document, attempt)] : []), ...ends]
}

/** Returns the step of a document. A repeat finds its own save. */
function documentStep(write: VersionedWrite, { writeId, base }: Attempt): Step {
  const update = updateTo(recordBy(write), { writeId })
  // A version may have been undone by a failing primary, and made anew by another save.
  const former = { version: write.base, ...(base !== undefined && { writeId: base }) }
  const filter = { $or: [former, { writeId }] }
  // No document has version 0, so a new one is inserted, and the unique id refuses it when there is one already.
  const guard = write.base === 0 ? {} : orFail
  return { write, filter, update: { ...update, ...guard }, upsert: true }
}

/** A write that only reserves or adds. */
type Adding = WriteOf<'key' | 'blob' | 'keep-blob' | 'event'>

function stepOf(write: Adding, writeId: string): Step {
  switch (write.kind) {
    case 'key':
      return keyStep(write, writeId)
    case 'event':
      // A repeat finds its own event.
      return { write, filter: { writeId }, update: updateTo(write, { writeId }), upsert: true }
    case 'blob': {
      const { bytes, size, uploader } = fields.blob(write)
      const $setOnInsert = { kind: 'blob', bytes, size, uploader, writeId }
      const update = { $max: keepFields(write), $setOnInsert }
      return { write, filter: {}, update, upsert: true }
    }
    case 'keep-blob': {
      const guard = write.mayBeAbsent ? {} : orFail
      const update = { $max: keepFields(write), ...guard }
      return { write, filter: {}, update, upsert: !write.mayBeAbsent }
    }
  }
}

/** Gives a key to a value, and notes the former value in the row. A repeat leaves that of the first attempt. */
function keyStep(write: WriteOf<'key'>, writeId: string): Step {
  const { value, insteadOf, now, expiresAt } = write
  const held = insteadOf === undefined ? [{ value }] : [{ value }, { value: insteadOf }]
  const found = { value: '$value', expiresAt: '$expiresAt' }
  const former = { $cond: [{ $eq: ['$writeId', { $literal: writeId }] }, '$former', found] }
  const $set = { kind: 'key', value: { $literal: value }, expiresAt, writeId, former }
  const filter = { $or: [...held, { expiresAt: { $lte: now } }] }
  return { write, filter, update: [{ $set }], upsert: true }
}

/** True when an earlier attempt made this save. Throws ProblemError `unavailable` when that cannot be known. */
async function isDone(
  { records }: MongoCollections,
  refused: Write,
  document: VersionedWrite | undefined,
  { writeId }: Attempt,
): Promise<boolean> {
  const found = await records.findOne({ _id: rowOfWrite(document ?? refused) })
  if (found?.writeId === writeId) return document !== undefined || found.value === null
  // This save may have succeeded without an answer before another one: neither true nor false is certain.
  if (document && Number(found?.version ?? 0) > document.base + 1) throw unknownOutcome()
  return false
}

const unknownOutcome = () =>
  new ProblemError('unavailable', 'It is not known whether this was saved. Check again', {
    retryAfterSeconds: 1,
  })

/** Undoes events and keys that still have the id of this save; other saves may have renewed them since. */
async function takeBack(
  { records }: MongoCollections,
  made: readonly Step[],
  { writeId }: Attempt,
): Promise<void> {
  const nobody = { value: null, expiresAt: never }
  const undone = made.flatMap(({ write }): AnyBulkWriteOperation<Row>[] => {
    const _id = rowOfWrite(write)
    if (write.kind === 'event') return [{ deleteOne: { filter: { _id, writeId } } }]
    if (write.kind !== 'key') return []
    const { value } = write
    // One that had the value before was only renewed.
    const filter = { _id, value, writeId, 'former.value': { $ne: value } }
    const $set = {
      value: { $ifNull: ['$former.value', nobody.value] },
      expiresAt: { $ifNull: ['$former.expiresAt', nobody.expiresAt] },
    }
    return [{ updateOne: { filter, update: [{ $set }] } }]
  })
  if (undone.length > 0) await records.bulkWrite(undone)
}

/** Inserts a record unless there is one with its id; also true when the save with this write id inserted that one. */
export function restoreOnce(
  collections: MongoCollections,
  record: StoreRecord,
  writeId: string,
): Promise<boolean> {
  // Finds only a row of this write id, or that of a released key. Beside any other the upsert fails, because its id is taken.
  const own = record.kind === 'key' ? { $or: [{ writeId }, { value: null }] } : { writeId }
  return putRow(collections, record, writeId, own)
}

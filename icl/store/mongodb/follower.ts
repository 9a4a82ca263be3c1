import { MongoServerError } from 'mongodb'
import { errorMessage } from '../../../lib/error-message.ts'
import type { Follower, Kind, Mirrored, Owner } from '../mirror/follower.ts'
import { type MongoCollections, type Row, rowId, updateTo } from './collections.ts'
import { createMongoConnection, defaultMongoTimeouts, type MongoConnection } from './connection.ts'
import type { MongoOptions } from './store.ts'
import { duplicateKey, firstRefused, orFail } from './taken.ts'
import { pagesOf, scanAll } from './upkeep.ts'

const ownerId = 'owner'
const mostRounds = 5
const mostForgotten = 1_000

// What a job or node names comes before it, as in a save of the other adapter.
const kinds: readonly Kind[] = ['key', 'event', 'blob', 'job', 'node', 'client']

/** Calls about who owns a database. */
export function ownersOf({ run }: MongoConnection) {
  return {
    owner: async (): Promise<Owner | undefined> => {
      const found = await run(({ records }) => records.findOne({ _id: ownerId }))
      if (!found) return undefined
      const { _id, ...owner } = found
      return owner as Row & Owner
    },
    /** Replaces the owner; false when it is another than `before` by now, or has beaten since. */
    claim: (before: Owner | undefined, next: Owner): Promise<boolean> =>
      run(async ({ records }, attempt) => {
        const isMine = async () => {
          const { file, mark } = next
          return attempt > 1 && (await records.findOne({ _id: ownerId, file, mark })) !== null
        }
        if (before) {
          const { file, mark, beats } = before
          const done = await records.updateOne({ _id: ownerId, file, mark, beats }, { $set: next })
          return done.matchedCount > 0 || isMine()
        }
        try {
          await records.insertOne({ _id: ownerId, ...next })
          return true
        } catch (error) {
          if (error instanceof MongoServerError && error.code === duplicateKey) return isMine()
          throw error
        }
      }),
    /** Marks the database as free, unless its owner is another. */
    release: ({ file, mark }: Owner) =>
      run(async ({ records }) => {
        await records.updateOne({ _id: ownerId, file, mark }, { $set: { isFree: true } })
      }),
    /** Notes that an owner runs; false when the database is another's or free. */
    beat: (owner: Owner): Promise<boolean> =>
      run(async ({ records }) => {
        const { filter, update } = beatOf(owner)
        return (await records.updateOne(filter, update)).matchedCount > 0
      }),
  }
}

function beatOf({ file, mark }: Owner, heads?: { from: number; to: number }) {
  const range = heads && { head: { $gte: heads.from, $lte: heads.to } }
  return {
    filter: { _id: ownerId, file, mark, isFree: false, ...range },
    update: { ...(heads && { $set: { head: heads.to } }), $inc: { beats: 1 } },
  }
}

/** Makes a MongoDB, or a server that speaks its protocol, follow a file. It needs no transactions. */
export function createMongoFollower({ url, clock, timeouts, log }: MongoOptions): Follower {
  const connection = createMongoConnection(url, clock, timeouts ?? defaultMongoTimeouts)
  const { run } = connection
  const { beat: _, ...owners } = ownersOf(connection)
  return {
    ...owners,
    put: (owner, heads, states) =>
      run((all) => putAll(all, beatOf(owner, heads), states, clock.now())),
    sweep: (upTo) => sweep(connection, upTo),
    forget: (before) => forget(connection, before),
    scan: () =>
      scanAll(connection, (error) =>
        log?.error('A record of the database cannot be read: the file lacks it', {
          error: errorMessage(error),
        }),
      ),
    drop: connection.drop,
    close: () => connection.close(),
  }
}

const upToNumber = (upTo: number) => ({ seq: { $not: { $gt: upTo } } })

/** Deletes rows of records that are gone since before a time, page by page: yields after each. */
export async function* forget({ run }: MongoConnection, before: number): AsyncGenerator<void> {
  const where = { gone: { $lt: before } }
  const options = { projection: { _id: 1 }, limit: mostForgotten }
  for (let found = mostForgotten; found === mostForgotten; ) {
    const page = await run(({ records }) => records.find(where, options).toArray())
    const these = { ...where, _id: { $in: page.map(({ _id }) => _id) } }
    await run(({ records }) => records.deleteMany(these))
    found = page.length
    yield
  }
}

async function* sweep(connection: MongoConnection, upTo: number): AsyncGenerator<void> {
  for (const kind of kinds) {
    for await (const page of pagesOf(connection, kind, { projection: { seq: 1 } })) {
      const these = { ...upToNumber(upTo), _id: { $in: page.map(({ _id }) => _id) } }
      await connection.run(({ records }) => records.deleteMany(these))
      yield
    }
  }
}

/** Puts states by one command, unless its first update finds another owner: then false. A row with a higher number refuses the insert. */
async function putAll(
  { records }: MongoCollections,
  beat: ReturnType<typeof beatOf>,
  states: readonly Mirrored[],
  now: number,
): Promise<boolean> {
  const idOf = ({ kind, id }: Mirrored) => rowId(kind, id)
  let left = kinds.flatMap((kind) => states.filter((state) => state.kind === kind))
  for (let round = 1; ; round++) {
    const first = { ...beat, update: { ...beat.update, ...orFail }, upsert: true }
    const updates = [{ updateOne: first }, ...left.map((one) => writeOf(idOf(one), one, now))]
    const refused = await firstRefused(() => records.bulkWrite(updates))
    if (refused === undefined) return true
    if (refused === 0) return false
    if (round === mostRounds) throw new TypeError('The database refuses a state again and again')
    // Two that insert one row at once disturb each other: looks which rows are done.
    const ids = { _id: { $in: left.map(idOf) } }
    const found = await records.find(ids, { projection: { seq: 1 } }).toArray()
    const numbers = new Map(found.map(({ _id, seq }) => [_id, Number(seq ?? -1)]))
    left = left.filter((one) => (numbers.get(idOf(one)) ?? -1) < one.seq)
  }
}

function writeOf(_id: string, { seq, record }: Mirrored, now: number) {
  // A repeat of the same number is the same state.
  const filter = { _id, seq: { $not: { $gt: seq } } }
  if (record === undefined) {
    return { replaceOne: { filter, replacement: { seq, gone: now }, upsert: true } }
  }
  // Those who share a database know saves by an id.
  const update = { ...updateTo(record, { seq, writeId: `${seq}` }), $unset: { gone: '' } }
  return { updateOne: { filter, update, upsert: true } }
}

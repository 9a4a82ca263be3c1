import { MongoServerError } from 'mongodb'
import { errorMessage } from '../../../lib/error-message.ts'
import type { Follower, Kind, Mirrored, Owner } from '../mirror/follower.ts'
import { collectionOf, type MongoCollections, updateTo } from './collections.ts'
import { createMongoConnection, defaultMongoTimeouts, type MongoConnection } from './connection.ts'
import type { MongoOptions } from './store.ts'
import { duplicateKey } from './taken.ts'
import { pagesOf, scanAll } from './upkeep.ts'

const ownerId = 'owner'
const mostRounds = 5
const mostForgotten = 1_000

// What a job or node names comes before it, as in a save of the other adapter.
const stages: readonly (readonly Kind[])[] = [
  ['key', 'event', 'blob'],
  ['job', 'node', 'client'],
]

/** Calls about who owns a database. */
export function ownersOf({ run }: MongoConnection) {
  return {
    owner: async (): Promise<Owner | undefined> => {
      const found = await run(({ owners }) => owners.findOne({ _id: ownerId }))
      if (!found) return undefined
      const { _id, ...owner } = found
      return owner
    },
    /** Replaces the owner; false when it is another than `before` by now, or has beaten since. */
    claim: (before: Owner | undefined, next: Owner): Promise<boolean> =>
      run(async ({ owners }, attempt) => {
        const isMine = async () => {
          const { file, mark } = next
          return attempt > 1 && (await owners.findOne({ _id: ownerId, file, mark })) !== null
        }
        if (before) {
          const { file, mark, beats } = before
          const done = await owners.updateOne({ _id: ownerId, file, mark, beats }, { $set: next })
          return done.matchedCount > 0 || isMine()
        }
        try {
          await owners.insertOne({ _id: ownerId, ...next })
          return true
        } catch (error) {
          if (error instanceof MongoServerError && error.code === duplicateKey) return isMine()
          throw error
        }
      }),
    /** Marks the database as free, unless its owner is another. */
    release: ({ file, mark }: Owner) =>
      run(async ({ owners }) => {
        await owners.updateOne({ _id: ownerId, file, mark }, { $set: { isFree: true } })
      }),
    /** Notes that an owner runs, and that the database may have numbers up to `to`; false when it is another's or free. */
    beat: ({ file, mark }: Owner, heads?: { from: number; to: number }): Promise<boolean> =>
      run(async ({ owners }) => {
        const range = heads && { head: { $gte: heads.from, $lte: heads.to } }
        const update = { ...(heads && { $set: { head: heads.to } }), $inc: { beats: 1 } }
        const done = await owners.updateOne(
          { _id: ownerId, file, mark, isFree: false, ...range },
          update,
        )
        return done.matchedCount > 0
      }),
  }
}

/** Makes a MongoDB, or a server that speaks its protocol, follow a file. It needs no transactions. */
export function createMongoFollower({ url, clock, timeouts, log }: MongoOptions): Follower {
  const connection = createMongoConnection(url, clock, timeouts ?? defaultMongoTimeouts)
  const { run } = connection
  const { beat, ...owners } = ownersOf(connection)
  return {
    ...owners,
    put: async (owner, heads, states) => {
      if (!(await beat(owner, heads))) return false
      for (const stage of stages) {
        await Promise.all(
          stage.map((kind) => {
            const some = states.filter((state) => state.kind === kind)
            return some.length > 0 && run((all) => putAll(all, kind, some, clock.now()))
          }),
        )
      }
      return true
    },
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
  for (const kind of stages.flat()) {
    for (let found = mostForgotten; found === mostForgotten; ) {
      const page = await run((all) => collectionOf(all, kind).find(where, options).toArray())
      const these = { ...where, _id: { $in: page.map(({ _id }) => _id) } }
      await run((all) => collectionOf(all, kind).deleteMany(these))
      found = page.length
      yield
    }
  }
}

async function* sweep(connection: MongoConnection, upTo: number): AsyncGenerator<void> {
  for (const kind of stages.flat()) {
    for await (const page of pagesOf(connection, kind, { projection: { seq: 1 } })) {
      const these = { ...upToNumber(upTo), _id: { $in: page.map(({ _id }) => _id) } }
      await connection.run((all) => collectionOf(all, kind).deleteMany(these))
      yield
    }
  }
}

/** Puts states of one kind by one command. A row with a higher number refuses the insert, as its id is taken. */
async function putAll(
  all: MongoCollections,
  kind: Kind,
  states: readonly Mirrored[],
  now: number,
): Promise<void> {
  const rows = collectionOf(all, kind)
  let left = states
  for (let round = 1; ; round++) {
    try {
      await rows.bulkWrite(left.map((one) => writeOf(one, now)) as never, { ordered: false })
      return
    } catch (error) {
      const isTaken = error instanceof MongoServerError && error.code === duplicateKey
      if (!isTaken || round === mostRounds) throw error
    }
    // Two that insert one row at once disturb each other: looks which rows are done.
    const ids = { _id: { $in: left.map(({ id }) => id) } }
    const found = await rows.find(ids, { projection: { seq: 1 } }).toArray()
    const numbers = new Map(found.map(({ _id, seq = -1 }) => [_id, seq]))
    left = left.filter(({ id, seq }) => (numbers.get(id) ?? -1) < seq)
    if (left.length === 0) return
  }
}

function writeOf({ id, seq, record }: Mirrored, now: number) {
  // A repeat of the same number is the same state.
  const filter = { _id: id, seq: { $not: { $gt: seq } } }
  if (record === undefined) {
    return { replaceOne: { filter, replacement: { seq, gone: now }, upsert: true } }
  }
  // Shared databases know their saves by an id; this one was made by none.
  const update = { ...updateTo(record, { seq, writeId: '' }), $unset: { gone: '' } }
  return { updateOne: { filter, update, upsert: true } }
}

import type { Document, Filter, FindOptions } from 'mongodb'
import type { Row } from '../rows.ts'
import type { StoreRecord } from '../store.ts'
import type { Row as MongoRow } from './collections.ts'
import type { MongoConnection } from './connection.ts'

type Kind = StoreRecord['kind']

/** Returns a document of the collection as a row, which has the id of its record as `id`. */
export const rowOf = ({ _id, ...row }: Document): Row => ({
  ...row,
  id: _id.slice(_id.indexOf(':') + 1),
})

/** Creates the queries of a connection. They return rows. */
export function createQueries({ run }: MongoConnection) {
  const all = (filter: Filter<MongoRow>, options: FindOptions): Promise<readonly Row[]> =>
    run(async ({ records }) => (await records.find(filter, options).toArray()).map(rowOf))
  // A row without its record has no kind (follower.ts).
  const list = (kind: Kind, filter: Filter<MongoRow>, options: FindOptions = {}) =>
    all({ ...filter, kind }, options)
  return {
    /** Returns rows of any kind. */
    all,
    list,
    /** Returns the first row, or undefined. */
    one: async (
      kind: Kind,
      filter: Filter<MongoRow>,
      options: FindOptions = {},
    ): Promise<Row | undefined> => (await list(kind, filter, { ...options, limit: 1 }))[0],
    /** Returns the groups that the steps make of the rows that a filter finds, by the index `hint` if one is given. */
    group: (
      kind: Kind,
      filter: Filter<MongoRow>,
      steps: readonly Document[],
      hint?: Readonly<Record<string, 1 | -1>>,
    ): Promise<readonly Row[]> =>
      run(async ({ records }) => {
        const all = [{ $match: { ...filter, kind } }, ...steps]
        const found = await records.aggregate(all, hint && { hint }).toArray()
        return found.map(({ _id, ...row }) => ({ ...row, id: _id }))
      }),
    count: (kind: Kind, filter: Filter<MongoRow>): Promise<number> =>
      run(({ records }) => records.countDocuments({ ...filter, kind })),
  }
}

export type Queries = ReturnType<typeof createQueries>

import type { Document, Filter, FindOptions } from 'mongodb'
import type { Row } from '../rows.ts'
import type { Rows } from './collections.ts'
import type { MongoConnection } from './connection.ts'

/** Returns a document of a collection as a row, which has its `_id` as `id`. */
export const rowOf = ({ _id, ...row }: Document): Row => ({ ...row, id: _id })

/** Creates the queries of a connection. They return rows. */
export function createQueries({ run }: MongoConnection) {
  const list = <Name extends keyof Rows>(
    name: Name,
    filter: Filter<Rows[Name]>,
    options: FindOptions = {},
  ): Promise<readonly Row[]> =>
    run(async (all) => {
      // A row without its record only has a number (follower.ts).
      const present = { ...filter, gone: null } as Filter<Rows[Name]>
      return (await all[name].find(present, options).toArray()).map(rowOf)
    })
  return {
    list,
    /** Returns the first row, or undefined. */
    one: async <Name extends keyof Rows>(
      name: Name,
      filter: Filter<Rows[Name]>,
      options: FindOptions = {},
    ): Promise<Row | undefined> => (await list(name, filter, { ...options, limit: 1 }))[0],
    /** Returns the groups that the steps make, by the index `hint` if one is given. */
    group: (
      name: 'jobs' | 'blobs',
      steps: readonly Document[],
      hint?: Readonly<Record<string, 1 | -1>>,
    ): Promise<readonly Row[]> =>
      run(async (all) => {
        const found = all[name].aggregate([...steps], hint && { hint })
        return (await found.toArray()).map(rowOf)
      }),
    count: (filter: Filter<Rows['jobs']>): Promise<number> =>
      run(({ jobs }) => jobs.countDocuments(filter)),
  }
}

export type Queries = ReturnType<typeof createQueries>

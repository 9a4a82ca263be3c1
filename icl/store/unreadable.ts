import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../telemetry/log.ts'
import type { Position } from './store.ts'

/** What lists do with documents that cannot be read: one of them must not keep the others from being listed. */
export type Unreadable = {
  /** Reads one document; what cannot be read is logged once as an error. Throws SvcError `store-corrupt`. */
  read<T>(name: string, read: () => T): T
  /** The documents of rows; one that cannot be read is left out. */
  readAll<Row, T>(rows: readonly Row[], nameOf: (row: Row) => string, read: (row: Row) => T): T[]
  /** How many could not be read when they were read last, for the store's status; nothing when there are none. */
  figures(): { readonly unreadable?: number }
  /** The same as a reason of the store's status. */
  reasons(): readonly string[]
}

/** True when a record of the database is not one that an ICL wrote. */
const isUnreadable = (error: unknown): error is SvcError =>
  error instanceof SvcError && error.code === 'store-corrupt'

const mostNoted = 10_000

/** Notes what cannot be read. */
export function createUnreadable(log: Pick<Log, 'error'> | undefined): Unreadable {
  const noted = new Set<string>()
  const readOne = <T>(name: string, read: () => T): T => {
    try {
      const document = read()
      if (noted.size > 0) noted.delete(name)
      return document
    } catch (error) {
      if (isUnreadable(error) && !noted.has(name) && noted.size < mostNoted) {
        noted.add(name)
        log?.error(`${error.message}; it is left out of lists`, { hint: error.hint })
      }
      throw error
    }
  }
  return {
    read: readOne,
    readAll: (rows, nameOf, read) =>
      rows.flatMap((row) => {
        try {
          return [readOne(nameOf(row), () => read(row))]
        } catch (error) {
          if (isUnreadable(error)) return []
          throw error
        }
      }),
    figures: () => (noted.size === 0 ? {} : { unreadable: noted.size }),
    reasons: () =>
      noted.size === 0
        ? []
        : [`records in the database that cannot be read: ${noted.size}; the log names them`],
  }
}

/** A page of a list, in which others take the place of what cannot be read: a short page would end the list. */
export async function fillPage<Row, T>(
  { before, limit }: { readonly before?: Position | undefined; readonly limit: number },
  ask: (before: Position | undefined, limit: number) => readonly Row[] | Promise<readonly Row[]>,
  positionOf: (row: Row) => Position,
  readAll: (rows: readonly Row[]) => readonly T[],
): Promise<readonly T[]> {
  const page: T[] = []
  for (let from = before; ; ) {
    const asked = limit - page.length
    const rows = await ask(from, asked)
    page.push(...readAll(rows))
    const last = rows.at(-1)
    if (last === undefined || rows.length < asked || page.length >= limit) return page
    from = positionOf(last)
  }
}

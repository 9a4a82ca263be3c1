import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../telemetry/log.ts'
import type { Position } from './store.ts'

/** Handles documents that cannot be read, so that one of them does not make a whole list fail. */
export type Unreadable = {
  /** Reads one document. Logs an unreadable one once as an error, and throws its SvcError `store-corrupt`. */
  read<T>(name: string, read: () => T): T
  /** Reads the documents of rows, and leaves out those that cannot be read. */
  readAll<Row, T>(rows: readonly Row[], nameOf: (row: Row) => string, read: (row: Row) => T): T[]
  /** For the store's status: how many documents could not be read at their last read; empty when there are none. */
  figures(): { readonly unreadable?: number }
  /** The same as `reasons` of the store's status. */
  reasons(): readonly string[]
}

/** True when an error says that a record is not one that an ICL wrote. */
const isUnreadable = (error: unknown): error is SvcError =>
  error instanceof SvcError && error.code === 'store-corrupt'

const mostNoted = 10_000

/** Remembers up to 10,000 unreadable documents; further ones are left out of lists without a note. */
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

/** Returns a page of a list. Reads on in place of unreadable documents, because callers take a short page for the end of the list. */
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

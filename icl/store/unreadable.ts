import { SvcError } from '../../lib/svc-error.ts'
import type { Log } from '../telemetry/log.ts'
import { positionOf, type Row } from './rows.ts'
import type { Page, Position } from './store.ts'

/** Handles documents that cannot be read, so that one of them does not make a whole list fail. */
export type Unreadable = ReturnType<typeof createUnreadable>

/** True when an error says that a record is not one that an ICL wrote. */
const isUnreadable = (error: unknown): error is SvcError =>
  error instanceof SvcError && error.code === 'store-corrupt'

/** Passes over a record that cannot be read, which its store has logged: `find(id).catch(unlessUnreadable)`. Throws any other error. */
export function unlessUnreadable(error: unknown): undefined {
  if (!isUnreadable(error)) throw error
}

const mostNoted = 10_000

/** Remembers up to 10,000 unreadable documents; further ones are left out of lists without a note. */
export function createUnreadable(log: Pick<Log, 'error'> | undefined) {
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
    /** Reads one document. Logs an unreadable one once as an error, and throws its SvcError `store-corrupt`. */
    read: readOne,
    /** Returns a reader of rows with an `id`, which leaves out those that cannot be read. */
    readerOf:
      <T>(what: string, read: (row: Row) => T) =>
      (rows: readonly Row[]): readonly T[] =>
        rows.flatMap((row) => {
          try {
            return [readOne(`${what} ${row.id}`, () => read(row))]
          } catch (error) {
            if (isUnreadable(error)) return []
            throw error
          }
        }),
    /** For the store's status: how many documents could not be read at their last read; empty when there are none. */
    figures: (): { readonly unreadable?: number } =>
      noted.size === 0 ? {} : { unreadable: noted.size },
    /** The same as `reasons` of the store's status. */
    reasons: (): readonly string[] =>
      noted.size === 0
        ? []
        : [`records in the database that cannot be read: ${noted.size}; the log names them`],
  }
}

/**
 * Returns a page of a list whose rows have their time in the column `time`. Reads on in place of unreadable documents, because callers
 * take a short page for the end of the list.
 */
export async function fillPage<T>(
  { before, limit }: Page,
  time: string,
  ask: (before: Position | undefined, limit: number) => readonly Row[] | Promise<readonly Row[]>,
  readAll: (rows: readonly Row[]) => readonly T[],
): Promise<readonly T[]> {
  const page: T[] = []
  for (let from = before; ; ) {
    const asked = limit - page.length
    const asking = ask(from, asked)
    // Rows that are here are read before anything else happens: a save in between would be newer than they are.
    const rows = asking instanceof Promise ? await asking : asking
    page.push(...readAll(rows))
    const last = rows.at(-1)
    if (last === undefined || rows.length < asked || page.length >= limit) return page
    from = positionOf(last, time)
  }
}

import type { Log } from '../../telemetry/log.ts'
import { beforeChanges } from '../before-changes.ts'
import { numberOf } from '../rows.ts'
import type { SqliteStore } from '../sqlite/store.ts'
import type { Store } from '../store.ts'

const laterRemark =
  'MongoDB gets this at the next start of this ICL: start and stop it before you change SVC_ICL_REPLICAS'

/**
 * Returns the store of a file for a command of the operator. Changes while no ICL has the file get a mark of their own: one that was put
 * back from an older copy must not pass by their number for what the database had last. `whileStopped` runs work unless an ICL has the
 * file, and keeps ICLs from starting meanwhile.
 */
export function storeForCommands(
  store: SqliteStore,
  whileStopped: (work: () => Promise<unknown>) => Promise<void>,
  mark: string,
  log?: Log,
): Store {
  const { db } = store
  const isFollowed = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'unsent'").get()
  if (!isFollowed) return store
  const add = db.prepare('INSERT INTO mirror_marks (mark, since) SELECT ?, seq FROM mirror')
  const since = db.prepare('SELECT since FROM mirror_marks WHERE mark = ?')
  const unsent = db.prepare('SELECT count(*) AS n FROM unsent WHERE seq > ?')
  let marked: Promise<void> | undefined
  const prepare = () => {
    marked ??= whileStopped(() => store.transact(() => add.run(mark)))
    return marked
  }
  /** How many records wait that were changed under this mark; 0 when an ICL had the file. */
  const countOwn = (): number => {
    const own = since.get(mark)
    return own ? numberOf(unsent.get(numberOf(own, 'since')) ?? {}, 'n') : 0
  }
  return {
    ...beforeChanges(store, prepare),
    close: async () => {
      try {
        if (marked && countOwn() > 0) log?.warn(laterRemark, { records: countOwn() })
        marked = undefined
      } finally {
        await store.close()
      }
    },
  }
}

import type { KeyedMutex } from '../../async/mutex.ts'
import { idOf, type StoreRecord, type Write } from '../store.ts'

/** Names the document, event, key or blob of a write or record: saves of the same name run one at a time. */
export const lockOf = (one: Write | StoreRecord): string =>
  `${one.kind.replace(/^(release|keep)-/, '')} ${idOf(one)}`

/** Runs work while no save has one of the locks of these writes or records. */
export function lockAll<T>(
  mutex: KeyedMutex,
  writes: readonly (Write | StoreRecord)[],
  work: () => Promise<T>,
): Promise<T> {
  // All callers take locks in the same order, which rules out deadlocks.
  const locks = [...new Set(writes.map(lockOf))].toSorted((a, b) => (a < b ? -1 : 1))
  return locks.reduceRight<() => Promise<T>>((inner, lock) => () => mutex(lock, inner), work)()
}

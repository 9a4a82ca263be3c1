import type { KeyedMutex } from '../../async/mutex.ts'
import { idOf, type StoreRecord, type Write } from '../store.ts'

/** What a write changes, or a record is: saves of the same come one after the other. */
export function lockOf(write: Write | StoreRecord): string {
  if ('event' in write) return `event ${write.event.id}`
  if ('key' in write) return `key ${write.key}`
  if ('cid' in write) return `blob ${write.cid}`
  return `${write.kind} ${idOf(write)}`
}

/** Runs work while nobody else saves what these writes save. */
export function lockAll<T>(
  mutex: KeyedMutex,
  writes: readonly Write[],
  work: () => Promise<T>,
): Promise<T> {
  // In one order for all, so that none waits for another that waits for it.
  const locks = [...new Set(writes.map(lockOf))].toSorted((a, b) => (a < b ? -1 : 1))
  return locks.reduceRight<() => Promise<T>>((inner, lock) => () => mutex(lock, inner), work)()
}

import type { KeyedMutex } from '../../async/mutex.ts'
import type { StoreRecord, Write } from '../store.ts'

/** What a write changes, or a record is: saves of the same come one after the other. */
export function lockOf(write: Write | StoreRecord): string {
  switch (write.kind) {
    case 'job':
      return `job ${write.job.id}`
    case 'node':
      return `node ${write.node.address}`
    case 'client':
      return `client ${write.client.address}`
    case 'event':
      return `event ${write.event.id}`
    case 'key':
    case 'release-key':
      return `key ${write.key}`
    case 'blob':
    case 'keep-blob':
      return `blob ${write.cid}`
  }
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

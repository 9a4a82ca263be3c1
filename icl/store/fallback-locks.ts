import type { Write } from './store.ts'

/** The key under which a write takes the keyed mutex: what it changes. */
export function lockOf(write: Write): string {
  switch (write.kind) {
    case 'job':
      return jobLock(write.job.id)
    case 'node':
      return nodeLock(write.node.address)
    case 'client':
      return `client ${write.client.address}`
    case 'event':
      return `event ${write.event.id}`
    case 'key':
    case 'release-key':
      return keyLock(write.key)
    case 'blob':
    case 'keep-blob':
      return `blob ${write.cid}`
  }
}

/** The lock key of a job. */
export const jobLock = (id: string): string => `job ${id}`
/** The lock key of a node. */
export const nodeLock = (address: string): string => `node ${address}`
/** The lock key of a key. */
const keyLock = (key: string): string => `key ${key}`

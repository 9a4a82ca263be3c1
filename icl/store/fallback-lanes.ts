import { createTurns, type Turns } from '../turns.ts'
import type { Write } from './store.ts'

/** Runs work one at a time for each name, and side by side for different ones. */
export type Lanes = <T>(name: string, work: () => Promise<T>) => Promise<T>

/** Makes lanes; one that is empty takes no memory. */
export function createLanes(): Lanes {
  const lanes = new Map<string, { turns: Turns; inside: number }>()
  return async (name, work) => {
    const lane = lanes.get(name) ?? { turns: createTurns(), inside: 0 }
    lanes.set(name, lane)
    lane.inside++
    try {
      return await lane.turns(work)
    } finally {
      lane.inside--
      if (lane.inside === 0) lanes.delete(name)
    }
  }
}

/** The lane of a write: what it changes. */
export function laneOf(write: Write): string {
  switch (write.kind) {
    case 'job':
      return jobLane(write.job.id)
    case 'node':
      return nodeLane(write.node.address)
    case 'event':
      return `event ${write.event.id}`
    case 'key':
    case 'release-key':
      return keyLane(write.key)
    case 'blob':
    case 'keep-blob':
      return `blob ${write.cid}`
  }
}

/** The lane of a job. */
export const jobLane = (id: string): string => `job ${id}`
/** The lane of a node. */
export const nodeLane = (address: string): string => `node ${address}`
/** The lane of a key. */
const keyLane = (key: string): string => `key ${key}`

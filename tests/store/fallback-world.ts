import type { Job } from '../../icl/rules/job.ts'
import { openFallbackStore } from '../../icl/store/fallback.ts'
import type { FallbackOptions } from '../../icl/store/fallback-state.ts'
import { createMemoryStore, type MemoryStore } from '../../icl/store/memory.ts'
import type { Store } from '../../icl/store/store.ts'
import { systemRandom } from '../../lib/system.ts'
import { aJobId } from '../branded.ts'
import { sampleJob } from '../icl/rules/sample-job.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import { type CutStore, createCutStore } from './cut-store.ts'
import { createMemoryJournal, type Disk, emptyDisk } from './memory-journal.ts'

/** A job whose id is one digit, repeated. */
export const jobOf = (digit: string, change: Partial<Job> = {}): Job => ({
  ...sampleJob(),
  id: aJobId(`0x${digit.repeat(64)}`),
  ...change,
})

/** A database, and what processes that use it find: connections that can be cut, disks that stay. */
export type FallbackWorld = {
  readonly clock: VirtualClock
  readonly database: MemoryStore
  connection: CutStore
  readonly disk: Disk
  readonly logged: string[]
  /** Starts a process; another start on the same disk is a restart. */
  start(changes?: Partial<FallbackOptions>): Promise<Store>
  /** Ends what was started, cut or not, without a word to anybody. */
  crash(): void
}

/** Makes a world with an empty database. */
export function createFallbackWorld(): FallbackWorld {
  const clock = createVirtualClock()
  const database = createMemoryStore()
  const disk = emptyDisk()
  const logged: string[] = []
  const note = (message: string, fields: object = {}) => {
    logged.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: note, info: note, warn: note, error: note }
  const status = () => ({ connected: true, writable: true, reasons: [] })
  let process = { alive: true }
  let running: Promise<Store> | undefined
  const world = {
    clock,
    database,
    // A process that has crashed keeps its own, cut for ever.
    connection: createCutStore({ ...database, status }),
    disk,
    logged,
    start: (changes: Partial<FallbackOptions> = {}) => {
      const { store } = world.connection
      const opening = openFallbackStore({
        open: async () => {
          await store.ping()
          return store
        },
        journal: createMemoryJournal(disk, process),
        replicaId: 'a',
        version: '0.0.0',
        clock,
        random: systemRandom,
        log,
        ...changes,
      })
      running = opening
      return clock.until(opening)
    },
    crash: () => {
      process.alive = false
      process = { alive: true }
      world.connection.cut = 'before'
      running?.then((store) => store.close()).catch(() => {})
      world.connection = createCutStore({ ...database, status })
    },
  }
  return world
}

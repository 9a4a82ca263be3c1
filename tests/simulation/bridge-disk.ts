import type { Job } from '../../icl/rules/job.ts'
import { openBridge } from '../../icl/store/bridge/bridge.ts'
import { createLocalCopy, type LocalCopy } from '../../icl/store/bridge/local-copy.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Clock } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { type CutStore, createCutStore } from '../store/cut-store.ts'
import { inCallOrder } from '../virtual-clock.ts'
import type { Dice } from './dice.ts'
import { createFiles, type StoreDisk } from './sqlite-disk.ts'

/** The name of the ICL that has the database for itself. */
export const bridged = 'bridged'

/** A database behind a connection that can be cut, and the local copy of one ICL on it. */
export type BridgeDisk = StoreDisk & {
  /** How the connection fails, of this process and of those that come after it. */
  cut: CutStore['cut']
}

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const local: ReadonlySet<string> = new Set(['status', 'scan', 'close'])
// A call to the database takes so long at most, in milliseconds.
const slowestMs = 4
const mostJobs = 1_000

/** The same, a little later. */
const slowly = (database: Store, clock: Clock, dice: Dice): Store =>
  new Proxy(
    { ...database, status: () => ({ connected: true, writable: true, reasons: [] }) },
    {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function' || local.has(String(name))) return value
        return async (...args: unknown[]) => {
          await clock.sleep(dice.between(0, slowestMs))
          return value(...args)
        }
      },
    },
  )

/** Opens a local copy; time stands still while the disk works. */
async function openCopy(file: string, clock: Clock): Promise<LocalCopy> {
  const store = await inCallOrder(() => openSqliteStore(file, { clock }))
  return createLocalCopy({ ...store, transact: (work) => inCallOrder(() => store.transact(work)) })
}

/** Makes an empty database, and opens the bridge to it. */
export async function createBridgeDisk(clock: Clock, dice: Dice): Promise<BridgeDisk> {
  const database = createMemoryStore()
  const files = createFiles('copy.db')
  let cut: CutStore['cut'] = 'none'
  const start = async () => {
    const life = files.lives()
    const isAlive = () => life === files.lives()
    const connection = createCutStore(slowly(database, clock, dice))
    connection.cut = (name) => {
      if (!isAlive()) return 'before'
      return typeof cut === 'function' ? cut(name) : cut
    }
    const open = async () => {
      await connection.store.ping()
      return connection.store
    }
    const copy = await openCopy(files.place(), clock)
    const options = { open, copy, replicaId: bridged, clock, random: dice, log }
    return { isAlive, copy, store: await openBridge(options) }
  }
  let current = await start()
  const store = new Proxy({} as Store, {
    get: (_, name) => {
      const asked = current
      const value: unknown = Reflect.get(asked.store, name)
      if (typeof value !== 'function' || local.has(String(name))) return value
      return async (...args: unknown[]) => {
        try {
          return await value(...args)
        } finally {
          // Callers of a dead process hear nothing.
          if (!asked.isAlive()) await new Promise(() => {})
        }
      }
    },
  })
  return {
    store,
    get cut() {
      return cut
    },
    set cut(next) {
      cut = next
    },
    jobs: async () => {
      const found = new Map<JobId, Job>()
      for await (const record of database.scan()) {
        if (record.kind === 'job') found.set(record.job.id, record.job)
      }
      const copied = await current.copy.store.listJobs({ limit: mostJobs })
      for (const job of copied) found.set(job.id, job)
      return [...found.values()]
    },
    stop: async () => {
      await current.store.close()
      current = await start()
    },
    crash: async () => {
      const { store: killed } = current
      files.crash()
      void killed.close().catch(() => {})
      current = await start()
    },
    end: async () => {
      await current.store.close()
      files.end()
    },
  }
}

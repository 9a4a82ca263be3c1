// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import type { Job } from '../../icl/rules/job.ts'
import { openBridge } from '../../icl/store/bridge/bridge.ts'
import { createLocalCopy, type LocalCopy } from '../../icl/store/bridge/local-copy.ts'
import type { BridgeOptions } from '../../icl/store/bridge/state.ts'
import { decodeDocument, encodeDocument } from '../../icl/store/encoding.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { SqliteDatabase } from '../../icl/store/sqlite/database.ts'
import { makeTables } from '../../icl/store/sqlite/schema.ts'
import { createSqliteStore, type SqliteStore } from '../../icl/store/sqlite/store.ts'
import type { Store, StoreRecord } from '../../icl/store/store.ts'
import { ProblemError } from '../../lib/problem.ts'
import { systemRandom } from '../../lib/system.ts'
import { aJobId } from '../branded.ts'
import { sampleJob } from '../icl/rules/sample-job.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import { type CutStore, createCutStore } from './cut-store.ts'

/** A job whose id is one digit, repeated. */
export const jobOf = (digit: string, change: Partial<Job> = {}): Job => ({
  ...sampleJob(),
  id: aJobId(`0x${digit.repeat(64)}`),
  ...change,
})

/** A disk with the copy of one process after the other. */
export type CopyDisk = {
  /** Decides for every change. */
  isFull: boolean | (() => boolean)
  /** Opens the copy; a process that has ended cannot save to it any more. */
  open(process?: { readonly alive: boolean }): LocalCopy
  /** The saves that the database may not have. */
  waiting(): number
}

/** A record as another process reads it. */
export const decoded = (record: StoreRecord): StoreRecord =>
  record.kind === 'job' ? { ...record, job: decodeDocument(encodeDocument(record.job)) } : record

/** An empty disk. */
export function createCopyDisk(): CopyDisk {
  const db = new DatabaseSync(':memory:') as unknown as SqliteDatabase
  makeTables(db)
  const openStore = (process: { readonly alive: boolean }): SqliteStore => {
    const store = createSqliteStore(db, {
      defer: queueMicrotask,
      rest: queueMicrotask,
      isInPlace: () => true,
      openReader: () => {
        throw new TypeError('A copy is not read as a whole')
      },
      close: () => {},
    })
    const guarded =
      (transact: SqliteStore['transact']): SqliteStore['transact'] =>
      async (work) => {
        const isFull = typeof disk.isFull === 'function' ? disk.isFull() : disk.isFull
        if (isFull) throw new ProblemError('unavailable', 'The disk is full')
        return transact((writes) => {
          if (!process.alive) throw new ProblemError('unavailable', 'The process has ended')
          return work(writes)
        })
      }
    const { transact, transactSoon } = store
    return { ...store, transact: guarded(transact), transactSoon: guarded(transactSoon) }
  }
  const disk: CopyDisk = {
    isFull: false,
    open: (process = { alive: true }) => createLocalCopy(openStore(process)),
    waiting: () => disk.open().countPending(),
  }
  return disk
}

/** A database, and what processes that use it find: connections that can be cut, disks that stay. */
export type BridgeWorld = {
  readonly clock: VirtualClock
  readonly database: Store
  connection: CutStore
  /** How long each record takes on its way to a fill, in milliseconds. */
  scanPauseMs: number
  /** How long the database takes for a call that is `late`, in milliseconds. */
  lateMs: number
  readonly disk: CopyDisk
  readonly logged: string[]
  /** Starts a process; another start on the same disk is a restart. */
  start(changes?: Partial<BridgeOptions>): Promise<Store>
  /** Ends what was started, cut or not, without a word to anybody. */
  crash(): void
}

/** Makes a world with an empty database. */
export function createBridgeWorld(): BridgeWorld {
  const clock = createVirtualClock()
  const database = createMemoryStore()
  const disk = createCopyDisk()
  const logged: string[] = []
  const note = (message: string, fields: object = {}) => {
    logged.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: note, info: note, warn: note, error: note }
  const reached: Store = {
    ...database,
    status: () => ({ connected: true, writable: true, reasons: [] }),
    scan: async function* () {
      for await (const record of database.scan()) {
        if (world.scanPauseMs > 0) await clock.sleep(world.scanPauseMs)
        yield decoded(record)
      }
    },
  }
  let process = { alive: true }
  let running: Promise<Store> | undefined
  const world: BridgeWorld = {
    clock,
    database,
    // A process that has crashed keeps its own, cut for ever.
    connection: createCutStore(reached, () => clock.sleep(world.lateMs)),
    scanPauseMs: 0,
    lateMs: 15_000,
    disk,
    logged,
    start: (changes = {}) => {
      const { store } = world.connection
      const opening = openBridge({
        open: async () => {
          await store.ping()
          return store
        },
        copy: disk.open(process),
        replicaId: 'a',
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
      world.connection = createCutStore(reached, () => clock.sleep(world.lateMs))
    },
  }
  return world
}

// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import canonicalize from 'canonicalize'
import { decodeDocument, encodeDocument } from '../../icl/store/encoding.ts'
import type { Follower, Mirrored, Owner } from '../../icl/store/mirror/follower.ts'
import { type MirrorOptions, openMirror } from '../../icl/store/mirror/mirror.ts'
import type { SqliteDatabase } from '../../icl/store/sqlite/database.ts'
import { makeTables } from '../../icl/store/sqlite/schema.ts'
import { createSqliteStore } from '../../icl/store/sqlite/store.ts'
import { idOf, type Store, type StoreRecord } from '../../icl/store/store.ts'
import type { Clock } from '../../lib/clock.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import { type CutStore, createCutStore } from './cut-store.ts'

/** A database in memory that follows a file, by the rules of the port. */
export type MemoryDatabase = {
  readonly follower: Follower
  readonly rows: Map<string, Mirrored>
  owner: Owner | undefined
  /** Thrown for a state that it refuses. */
  refuses: (state: Mirrored) => Error | undefined
  find(kind: Mirrored['kind'], id: string): StoreRecord | undefined
}

/** A record as another process reads it. */
const decoded = (record: StoreRecord): StoreRecord =>
  record.kind === 'job' ? { ...record, job: decodeDocument(encodeDocument(record.job)) } : record

/** Makes an empty database. */
export function createMemoryDatabase(clock: Clock = systemClock): MemoryDatabase {
  const rows = new Map<string, Mirrored>()
  const goneAt = new WeakMap<Mirrored, number>()
  const isMine = ({ file, mark }: Owner) =>
    database.owner?.file === file && database.owner.mark === mark
  const database: MemoryDatabase = {
    rows,
    owner: undefined,
    refuses: () => undefined,
    find: (kind, id) => rows.get(`${kind}:${id}`)?.record,
    follower: {
      owner: async () => database.owner,
      claim: async (before, next) => {
        if (before ? !isMine(before) || before.beats !== database.owner?.beats : database.owner)
          return false
        database.owner = next
        return true
      },
      release: async (mine) => {
        if (database.owner && isMine(mine)) database.owner = { ...database.owner, isFree: true }
      },
      put: async (mine, { from, to }, states) => {
        const { owner } = database
        if (!owner || owner.isFree || !isMine(mine) || owner.head < from || owner.head > to)
          return false
        database.owner = { ...owner, head: to, beats: owner.beats + 1 }
        for (const state of states) {
          const refusal = database.refuses(state)
          if (refusal) throw refusal
          const name = `${state.kind}:${state.id}`
          if ((rows.get(name)?.seq ?? 0) <= state.seq) rows.set(name, state)
          goneAt.set(state, clock.now())
        }
        return true
      },
      sweep: async function* (upTo) {
        for (const [name, row] of rows) {
          if (row.seq <= upTo) rows.delete(name)
          yield
        }
      },
      forget: async function* (before) {
        for (const [name, row] of rows) {
          if (!row.record && (goneAt.get(row) ?? 0) < before) rows.delete(name)
          yield
        }
      },
      scan: async function* () {
        for (const { record } of [...rows.values()]) if (record) yield decoded(record)
      },
      drop: () => {},
      close: async () => {},
    },
  }
  return database
}

/** A file in memory, which one process after the other opens. */
export function createFile() {
  const db = new DatabaseSync(':memory:') as unknown as SqliteDatabase
  makeTables(db)
  const check = (process: { readonly alive: boolean }) => {
    if (!process.alive) throw new Error('The process has ended')
  }
  /** The connection of one process, which ends with it. */
  const connect = (process: { readonly alive: boolean }): SqliteDatabase => ({
    exec: (sql) => {
      check(process)
      db.exec(sql)
    },
    close: () => {},
    prepare: (sql) => {
      const statement = db.prepare(sql)
      return {
        run: (...values) => {
          check(process)
          return statement.run(...values)
        },
        get: (...values) => {
          check(process)
          return statement.get(...values)
        },
        all: (...values) => {
          check(process)
          return statement.all(...values)
        },
        iterate: (...values) => statement.all(...values)[Symbol.iterator](),
      }
    },
  })
  return {
    db,
    open: (process: { readonly alive: boolean } = { alive: true }) =>
      createSqliteStore(connect(process), {
        defer: queueMicrotask,
        rest: queueMicrotask,
        isInPlace: () => true,
        // What is committed is all that there is between two commits.
        openReader: () => ({ ...connect(process), exec: () => {} }),
        close: () => {},
      }),
    /** Undoes what a process that has ended had not committed. */
    rollBack: (): void => {
      try {
        db.exec('ROLLBACK')
      } catch {
        // Nothing was open.
      }
    },
  }
}

/** A file and its database, and the processes that use them. */
export type MirrorWorld = ReturnType<typeof createMirrorWorld>

/** Makes a world with an empty file and an empty database. */
export function createMirrorWorld(clock: VirtualClock = createVirtualClock()) {
  const database = createMemoryDatabase(clock)
  const logged: string[] = []
  const note = (message: string, fields: object = {}) => {
    logged.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: note, info: note, warn: note, error: note }
  const running: { alive: boolean; connection: CutStore<Follower> }[] = []
  const world = {
    clock,
    database,
    file: createFile(),
    logged,
    /** How long the database takes for a call that is `late`, in milliseconds. */
    lateMs: 15_000,
    connection: createCutStore<Follower>(database.follower),
    /** Starts a process; another start on the same file is a restart. */
    start: (changes: Partial<MirrorOptions> = {}): Promise<Store> => {
      const connection = createCutStore<Follower>(
        { ...database.follower, ...changes.follower },
        () => clock.sleep(world.lateMs),
      )
      connection.cut = world.connection.cut
      world.connection = connection
      const process = { alive: true, connection }
      running.push(process)
      const opening = openMirror({
        store: world.file.open(process),
        name: 'a',
        ...{ clock, random: systemRandom, log },
        ...changes,
        follower: {
          ...connection.store,
          sweep: async function* (upTo) {
            await connection.store.owner()
            yield* { ...database.follower, ...changes.follower }.sweep(upTo)
          },
          scan: async function* () {
            for await (const record of database.follower.scan()) {
              await connection.store.owner()
              yield record
            }
          },
        },
      })
      return clock.until(opening)
    },
    /** Ends all processes, whatever they have under way. */
    crash: (): void => {
      for (const process of running) {
        process.alive = false
        process.connection.cut = 'silent'
      }
      world.file.rollBack()
      world.connection = createCutStore<Follower>(database.follower)
    },
  }
  return world
}

/** What a store and its database have, as texts by kind and id. */
export async function contentsOf(
  records: AsyncIterable<StoreRecord>,
): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for await (const record of records) {
    const text = JSON.stringify(record, (_, value: unknown) =>
      typeof value === 'bigint' ? `${value}n` : value,
    )
    // The order of a document's parts differs.
    found.set(`${record.kind}:${idOf(record)}`, canonicalize(JSON.parse(text)) ?? '')
  }
  return found
}

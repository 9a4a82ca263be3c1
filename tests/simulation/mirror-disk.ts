import type { Job } from '../../icl/rules/job.ts'
import type { Follower } from '../../icl/store/mirror/follower.ts'
import { openMirror } from '../../icl/store/mirror/mirror.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import type { SqliteStore } from '../../icl/store/sqlite/store.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Clock } from '../../lib/clock.ts'
import { type CutStore, createCutStore } from '../store/cut-store.ts'
import { contentsOf, createMemoryDatabase } from '../store/mirror-world.ts'
import { inCallOrder } from '../virtual-clock.ts'
import type { Dice } from './dice.ts'
import { createFiles, type StoreDisk } from './sqlite-disk.ts'

/** A file, and a database that follows it behind a connection that can be cut. */
export type MirrorDisk = StoreDisk & {
  /** How the connection fails, of this process and of those that come after it. */
  cut: CutStore['cut']
  /** What is wrong with the database: it is ahead of the file, or has another state of what it should have. */
  wrong(): Promise<readonly string[]>
}

const quiet = () => {}
const log = { debug: quiet, info: quiet, warn: quiet, error: quiet }
const local: ReadonlySet<string> = new Set(['status', 'scan', 'close'])
// A call to the database takes so long at most, in milliseconds.
const slowestMs = 4

/** The same, a little later. */
const slowly = (follower: Follower, clock: Clock, dice: Dice): Follower => ({
  ...follower,
  put: async (...args) => {
    await clock.sleep(dice.between(0, slowestMs))
    return follower.put(...args)
  },
})

/** The store of a file; time stands still while the disk works. */
function timeless(store: SqliteStore): SqliteStore {
  const ahead = store.ahead()
  const barrier = () => {
    const inFile = ahead.commits.barrier()
    return () => inCallOrder(inFile)
  }
  return {
    ...store,
    transact: (work) => inCallOrder(() => store.transact(work)),
    ahead: () => ({ ...ahead, commits: { ...ahead.commits, barrier } }),
  }
}

/** Makes an empty file and an empty database, and opens the mirror. */
export async function createMirrorDisk(clock: Clock, dice: Dice): Promise<MirrorDisk> {
  const database = createMemoryDatabase(clock)
  const files = createFiles('icl.db')
  let cut: CutStore['cut'] = 'none'
  const start = async () => {
    const life = files.lives()
    const isAlive = () => life === files.lives()
    const connection = createCutStore<Follower>(slowly(database.follower, clock, dice))
    connection.cut = (name) => {
      if (!isAlive()) return 'before'
      return typeof cut === 'function' ? cut(name) : cut
    }
    const file = await inCallOrder(() => openSqliteStore(files.place(), { clock }))
    const store = await openMirror({
      ...{ store: timeless(file), follower: connection.store, name: 'a', startEmpty: true },
      ...{ clock, random: dice, log },
    })
    return { isAlive, file, store }
  }
  let current = await start()
  const ofCaller = <T>(asked: typeof current, work: Promise<T>): Promise<T> =>
    work.finally(async () => {
      // Callers of a dead process hear nothing.
      if (!asked.isAlive()) await new Promise(() => {})
    })
  const store = new Proxy({} as Store, {
    get: (_, name) => {
      const asked = current
      if (name === 'commits') {
        const { commits } = asked.store
        const barrier = () => {
          const wait = commits.barrier()
          return () => ofCaller(asked, wait())
        }
        return { ...commits, barrier }
      }
      const value: unknown = Reflect.get(asked.store, name)
      if (typeof value !== 'function' || local.has(String(name))) return value
      return (...args: unknown[]) =>
        ofCaller(
          asked,
          inCallOrder(async () => value(...args)),
        )
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
    wrong: async () => {
      const { db } = current.file
      const seq = Number(db.prepare('SELECT seq FROM mirror').get()?.seq)
      const waits = db.prepare('SELECT 1 FROM unsent WHERE kind = ? AND id = ?')
      const there = await contentsOf(database.follower.scan())
      const here = await contentsOf(current.store.scan())
      const ahead = [...database.rows.values()].filter((row) => row.seq > seq)
      const names = [...new Set([...here.keys(), ...there.keys()])]
      const others = names.filter((name) => {
        const [kind = '', id = ''] = name.split(/:(.*)/s)
        return here.get(name) !== there.get(name) && !waits.get(kind, id)
      })
      return [
        ...ahead.map(({ kind, id }) => `the database is ahead of the file: ${kind} ${id}`),
        ...others.map((name) => `the database has another state of ${name}`),
      ]
    },
    jobs: async () => {
      const jobs: Job[] = []
      for await (const record of current.store.scan()) {
        if (record.kind === 'job') jobs.push(record.job)
      }
      return jobs
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

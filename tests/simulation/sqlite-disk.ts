import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from '../../icl/rules/job.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
import type { SqliteStore } from '../../icl/store/sqlite/store.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Clock } from '../../lib/clock.ts'
import { inCallOrder } from '../virtual-clock.ts'

/** What a process leaves that has a store for itself, and what the next one finds. */
export type StoreDisk = {
  readonly store: Store
  /** Every job as the next process finds it. */
  jobs(): Promise<readonly Job[]>
  /** Leaves the process as a stop in order does, and opens the store again. */
  stop(): Promise<void>
  /** Leaves the process as kill -9 does, and opens what is there at this moment. */
  crash(): Promise<void>
  end(): Promise<void>
}

const local: ReadonlySet<string> = new Set(['status', 'scan', 'close'])

/** A file and those beside it, as one process after the other finds it; in memory where the system has such a place. */
export function createFiles(name: string) {
  const folder = mkdtempSync(
    join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'svc-simulation-'),
  )
  let lives = 0
  const place = () => join(folder, String(lives), name)
  mkdirSync(join(folder, String(lives)))
  return {
    place,
    /** Has the next process find what is there at this moment, whatever this one still does. */
    crash: (): void => {
      const files = place()
      lives++
      mkdirSync(join(folder, String(lives)))
      for (const end of ['', '-wal']) {
        if (existsSync(files + end)) copyFileSync(files + end, place() + end)
      }
    },
    lives: () => lives,
    end: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The store of a file; time stands still while the disk works. */
export function timeless(store: SqliteStore): SqliteStore {
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

/** Has one process after the other open the store of the files. */
export async function createDisk(
  files: ReturnType<typeof createFiles>,
  open: () => Promise<Store>,
): Promise<StoreDisk> {
  const start = async () => ({ life: files.lives(), store: await open() })
  let current = await start()
  const ofCaller = <T>(life: number, work: Promise<T>): Promise<T> =>
    work.finally(async () => {
      // Callers of a dead process hear nothing.
      if (life !== files.lives()) await new Promise(() => {})
    })
  const store = new Proxy({} as Store, {
    get: (_, name) => {
      const { life, store: asked } = current
      if (name === 'commits') {
        const { commits } = asked
        const barrier = () => {
          const wait = commits.barrier()
          return () => ofCaller(life, wait())
        }
        return { ...commits, barrier }
      }
      const value: unknown = Reflect.get(asked, name)
      if (typeof value !== 'function' || local.has(String(name))) return value
      return (...args: unknown[]) =>
        ofCaller(
          life,
          inCallOrder(async () => value(...args)),
        )
    },
  })
  return {
    store,
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

/** Opens a new file in a folder of its own. Its saves last with the next commit, as an ICL's do. */
export async function createSqliteDisk(clock: Clock): Promise<StoreDisk> {
  const files = createFiles('icl.db')
  const open = async () =>
    timeless(await inCallOrder(() => openSqliteStore(files.place(), { clock }))).ahead()
  // Its file is the same whether it is closed in between or not.
  return { ...(await createDisk(files, open)), stop: async () => {} }
}

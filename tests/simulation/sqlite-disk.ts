import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Job } from '../../icl/rules/job.ts'
import { openSqliteStore } from '../../icl/store/sqlite/file.ts'
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

const synchronous: ReadonlySet<string> = new Set(['status', 'scan'])

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

/** Opens a new file in a folder of its own. Its saves last with the next commit, as an ICL's do. */
export async function createSqliteDisk(clock: Clock): Promise<StoreDisk> {
  const files = createFiles('icl.db')
  const open = async () =>
    (await inCallOrder(() => openSqliteStore(files.place(), { clock }))).ahead()
  let current = await open()
  /** The commits of the process that asks, waited for in the order of the calls. */
  const commitsOf = ({ commits }: Store): Store['commits'] => ({
    ...commits,
    barrier: () => {
      const life = files.lives()
      const barrier = commits.barrier()
      return async () => {
        await inCallOrder(barrier)
        if (life !== files.lives()) await new Promise(() => {})
      }
    },
  })
  const store = new Proxy({} as Store, {
    get: (_, name) => {
      if (name === 'commits') return commitsOf(current)
      const value: unknown = Reflect.get(current, name)
      if (typeof value !== 'function') return value
      if (synchronous.has(String(name))) return value.bind(current)
      return async (...args: unknown[]) => {
        const life = files.lives()
        const answer = await inCallOrder(async () => Reflect.apply(value, current, args))
        // Callers of a dead process hear nothing.
        return life === files.lives() ? answer : new Promise(() => {})
      }
    },
  })
  return {
    store,
    jobs: async () => {
      const jobs: Job[] = []
      for await (const record of current.scan()) if (record.kind === 'job') jobs.push(record.job)
      return jobs
    },
    // Its file is the same whether it is closed in between or not.
    stop: async () => {},
    crash: async () => {
      const old = current
      files.crash()
      await old.close()
      current = await open()
    },
    end: async () => {
      await current.close()
      files.end()
    },
  }
}

import { existsSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { setImmediate } from 'node:timers'
import type { Clock } from '../../../lib/clock.ts'
import { takeFileLock } from '../../../lib/host/file-lock.ts'
import { syncFolder } from '../../../lib/host/write-whole.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock } from '../../../lib/system.ts'
import type { Log } from '../../telemetry/log.ts'
import { failureCode, type SqliteDatabase } from './database.ts'
import { findPath, hasLostLog, unusable } from './path.ts'
import { checkSchema, isEmpty, makeTables, pragmas } from './schema.ts'
import { createSqliteStore, type SqliteStore } from './store.ts'

/** How long a change that no caller waits for stays open; other processes cannot write to the file meanwhile. */
const commitMs = 5

/** Under load the ICL writes most of the time, and a guest gets a chance every 100 ms only. */
const guestPatienceMs = 20_000

/** How often, and how soon, a start tries again to lock its file. */
const mostTries = 5
const tryAgainMs = 100

type Sqlite = typeof import('node:sqlite')

/**
 * Opens the store in a file, and creates the file if needed (mode 0600). One ICL at a time has it. A `guest` is another process that
 * makes small changes beside the ICL, and creates no file. Throws SvcError `store-locked`, `store-missing`, `store-incomplete`,
 * `store-foreign`, `store-version`, `store-corrupt`, `store-unavailable`, `store-out-of-reach` or `lock-unusable`.
 */
export async function openSqliteStore(
  file: string,
  {
    guest = false,
    log,
    clock = systemClock,
    // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
    load = () => import('node:sqlite'),
  }: {
    guest?: boolean
    log?: Log | undefined
    clock?: Pick<Clock, 'sleep'>
    load?: () => Promise<Sqlite>
  } = {},
): Promise<SqliteStore> {
  const sqlite = await loadSqlite(load)
  const path = findPath(file, guest)
  const unlock = guest ? () => {} : await lockDatabase(path, clock)
  // Looked at first, because opening makes a log.
  const isWithoutLog = hasLostLog(path)
  const opened: SqliteDatabase[] = []
  const close = () => {
    for (const db of opened.reverse()) db.close()
    unlock()
  }
  const connect = (options: { readOnly: boolean }): SqliteDatabase => {
    const db = asDatabase(new sqlite.DatabaseSync(path, options))
    try {
      db.exec(pragmas)
      if (guest) db.exec(`PRAGMA busy_timeout = ${guestPatienceMs}`)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  }
  try {
    const db = connect({ readOnly: false })
    opened.push(db)
    // Checked before any change: a file of another program or version stays as it is.
    if (isWithoutLog && isEmpty(db)) throw lostLog(path)
    const isNew = isEmpty(db) && !guest
    if (!isNew) checkSchema(db, path)
    if (db.prepare('PRAGMA journal_mode = WAL').get()?.journal_mode !== 'wal') {
      throw new SvcError(
        'store-unavailable',
        `The file system of ${path} cannot share memory between processes (WAL)`,
        { hint: 'Name a file on a local disk in SVC_ICL_DATABASE_URL.' },
      )
    }
    if (isNew) {
      makeTables(db)
      log?.info('A new database was made', { file: path })
    }
    syncFolder(dirname(path))
    const { ino, dev } = statSync(path)
    return createSqliteStore(db, {
      defer: (work) => void setImmediate(work),
      rest: (work) => void clock.sleep(commitMs).then(work),
      isInPlace: () => {
        const now = statSync(path, { throwIfNoEntry: false })
        return now?.ino === ino && now.dev === dev
      },
      openReader: () => connect({ readOnly: true }),
      close,
      log,
    })
  } catch (error) {
    close()
    throw failureCode(error) === undefined ? error : unusable(path, error)
  }
}

/** Opens an empty store in the memory of this process, for a host without a disk. */
export async function openMemoryFile(log?: Log): Promise<SqliteStore> {
  // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
  const sqlite = await loadSqlite(() => import('node:sqlite'))
  const db = asDatabase(new sqlite.DatabaseSync(':memory:'))
  db.exec(pragmas)
  makeTables(db)
  return createSqliteStore(db, {
    defer: (work) => void setImmediate(work),
    rest: (work) => void systemClock.sleep(commitMs).then(work),
    isInPlace: () => true,
    // It has one connection only, which a backup would share with saves: no process makes one of it.
    openReader: () => ({ exec: () => {}, close: () => {}, prepare: (sql) => db.prepare(sql) }),
    close: () => db.close(),
    log,
  })
}

const loadSqlite = (load: () => Promise<Sqlite>): Promise<Sqlite> =>
  load().catch((cause: unknown) => {
    throw new SvcError('store-unavailable', 'This runtime has no node:sqlite', {
      hint: 'Run the ICL with Bun 1.4.5, Node 22.18 or Deno 2.2 (or later), or use another SVC_ICL_DATABASE_URL.',
      cause,
    })
  })

// The drivers' types promise less about values than the store's. The reads check each value.
const asDatabase = (db: InstanceType<Sqlite['DatabaseSync']>): SqliteDatabase =>
  db as unknown as SqliteDatabase

const lostLog = (path: string): SvcError =>
  new SvcError(
    'store-incomplete',
    `The database ${path} was made before, and has no tables: they were in its log ${path}-wal, which is gone`,
    {
      hint:
        'Put the log back next to the database, and mount their folder, not the file. If the log is lost, or no job was ever taken, ' +
        'move the database away, and restore the last backup if there is one.',
    },
  )

/** Runs work on a file unless an ICL has it, and keeps ICLs from starting meanwhile: it has to be short. */
export async function whileStopped(file: string, work: () => Promise<unknown>): Promise<void> {
  const lock = lockOf(realpathSync(file))
  // Every ICL leaves one. One that this process made could be closed to the user of the ICL.
  const unlock = existsSync(lock) ? await takeFileLock(lock) : () => {}
  if (!unlock) return
  try {
    await work()
  } finally {
    unlock()
  }
}

const lockOf = (path: string): string => `${path}.lock`

async function lockDatabase(path: string, clock: Pick<Clock, 'sleep'>): Promise<() => void> {
  for (let tries = 1; tries <= mostTries; tries++) {
    const unlock = await takeFileLock(lockOf(path))
    if (unlock) return unlock
    // A command of the operator may have it for a moment.
    await clock.sleep(tryAgainMs)
  }
  throw new SvcError('store-locked', `Another ICL uses ${path}`, {
    hint: 'One ICL at a time can have a sqlite file. Stop the other one, or use mongodb for several.',
  })
}

import { closeSync, fstatSync, openSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'

const attempts = 100
// Reading the number of the holder takes far less.
const readersMs = 10_000

// By their inodes. Held here, whatever callers keep: a file that is collected as garbage is closed, and then unlocked.
const locked = new Map<bigint, DatabaseSync>()

/** The lock's place: beside the configuration. */
export const lockPathOf = (configPath: string): string => join(dirname(configPath), 'run.lock')

/**
 * Takes a configuration for this process, and gives what releases it: two daemons would finish the same jobs and sign
 * statements that contradict one another. The system holds the lock (it is that of an SQLite file), so that it ends with
 * the process however that ends, and counts between containers, where process numbers say nothing. Throws SvcError
 * `already-running` or `lock-unusable`.
 */
export function takeLock(path: string): () => void {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const release = tryLock(path)
    if (release !== undefined) return release
  }
  throw unusable(path, new Error('other processes keep replacing it'))
}

/** What releases the lock; undefined when its last holder removed the file while it was opened here. */
function tryLock(path: string): (() => void) | undefined {
  const known = inodeOf(path)
  // Opening and closing it once more would unlock it: so it is with locks of files.
  if (known !== undefined && locked.has(known)) throw alreadyRunning(process.pid)
  const opened: (() => void)[] = []
  const close = () => {
    for (const end of opened.splice(0).reverse()) end()
  }
  try {
    // While this is open the inode is no other file's: if it is at the path in the end, it was so all the time.
    const guard = openSync(path, 'a', 0o600)
    opened.push(() => closeSync(guard))
    const file = new DatabaseSync(path)
    opened.push(() => file.close())
    hold(file, path)
    const inode = fstatSync(guard, { bigint: true }).ino
    if (inodeOf(path) !== inode) {
      close()
      return undefined
    }
    locked.set(inode, file)
    return () => {
      if (!locked.delete(inode)) return
      remove(path)
      close()
    }
  } catch (error) {
    close()
    throw error instanceof SvcError ? error : unusable(path, error)
  }
}

const inodeOf = (path: string): bigint | undefined =>
  statSync(path, { bigint: true, throwIfNoEntry: false })?.ino

const busy = 5
const damaged = 11
const notADatabase = 26

const errorCodeOf = (error: unknown): unknown =>
  error instanceof Error && 'errcode' in error ? error.errcode : undefined

/** Leaves the process's number where others can read it, and a transaction open that keeps them from beginning one. */
function hold(file: DatabaseSync, path: string): void {
  try {
    begin(file)
  } catch (error) {
    const code = errorCodeOf(error)
    if (code === busy) {
      giveUp(file)
      throw alreadyRunning(holderOf(file))
    }
    if (code !== damaged && code !== notADatabase) throw error
    // Emptied, not removed: another process may have taken this very file meanwhile.
    truncateSync(path)
    begin(file)
  }
}

function begin(file: DatabaseSync): void {
  file.exec('PRAGMA busy_timeout = 0')
  // The number is worth neither a file beside this one nor a wait for the disk.
  file.exec('PRAGMA journal_mode = MEMORY')
  file.exec('PRAGMA synchronous = OFF')
  file.exec('BEGIN IMMEDIATE')
  file.exec(`PRAGMA user_version = ${process.pid}`)
  // One that was refused may be reading whose it is: giving up for that would leave the lock to nobody.
  file.exec(`PRAGMA busy_timeout = ${readersMs}`)
  file.exec('COMMIT')
  file.exec('PRAGMA busy_timeout = 0')
  file.exec('BEGIN IMMEDIATE')
}

/** Takes back a number that could not be left: it would be read as the holder's. */
function giveUp(file: DatabaseSync): void {
  try {
    file.exec('ROLLBACK')
  } catch {
    // There was no transaction yet.
  }
}

function holderOf(file: DatabaseSync): number | undefined {
  try {
    const pid = file.prepare('PRAGMA user_version').get()?.user_version
    return typeof pid === 'number' && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // Where open files cannot be removed, an unlocked one stays.
  }
}

const alreadyRunning = (pid: number | undefined): SvcError =>
  new SvcError(
    'already-running',
    `another svc-node runs with this configuration${pid === undefined ? '' : ` (process ${pid})`}`,
    { hint: 'Stop it first.' },
  )

const unusable = (path: string, error: unknown): SvcError =>
  new SvcError('lock-unusable', `the lock ${path} cannot be used: ${errorMessage(error)}`, {
    hint: 'Check the disk, who owns the lock and its folder, and that the file system has locks. While no svc-node runs with this configuration, the lock may be removed.',
    cause: error,
  })

// The path of a sqlite store. A file that cannot be the store is refused with a remedy, and is left unchanged.
// The write-ahead log (`-wal`) may be much larger than the database, and hold nearly all acknowledged saves. SQLite deletes a log
// beside a new database, so a database that is missing or empty beside its log is never created. The log and the lock belong to a name
// in a folder. So a database under another name of its own (a hard link, a mount of this one file) is refused: it would have another log
// and another lock, and its log would be lost with the container that mounts the file.
import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { known } from '../../../lib/host/known.ts'
import { createPrivately } from '../../../lib/host/private-files.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { failureCode, isDamaged, troubleOf } from './database.ts'

/**
 * Returns the file's real path; creates a missing file, except for a guest. Throws SvcError `store-out-of-reach` when there is no file and
 * its folder cannot be reached or written, else another `store-...`.
 */
export function findPath(
  name: string,
  guest: boolean,
  readMounts = () => readFileSync('/proc/self/mountinfo', 'utf8'),
): string {
  const file = resolve(name)
  try {
    checkDatabase(file, guest)
    if (!guest) createPrivately(file)
    const path = realpathSync(file)
    checkAlone(path, known(readMounts) ?? '')
    return path
  } catch (error) {
    if (error instanceof SvcError) throw error
    const { message, hint } = unusable(file, error)
    const code = isAbsent(file) ? 'store-out-of-reach' : 'store-unavailable'
    throw new SvcError(code, message, { hint, cause: error })
  }
}

/** Returns the error for an unusable file, with its remedy; the cause is an error of SQLite or of the system. */
export function unusable(file: string, cause: unknown): SvcError {
  const { code, message } = cause as NodeJS.ErrnoException
  const isSystems = code !== undefined && code in remedies
  const why = isSystems ? message : troubleOf(cause)
  const damaged = isDamaged(cause)
  return new SvcError(
    damaged ? 'store-corrupt' : 'store-unavailable',
    `The file ${file} cannot be used: ${why}`,
    {
      hint: damaged
        ? damagedRemedy
        : remedyFor(file, isSystems ? code : codesLike[failureCode(cause) ?? 0]),
      cause,
    },
  )
}

/** The system's codes that fit errors of SQLite: a full disk, and a file that cannot be opened. */
const codesLike: Readonly<Record<number, string>> = { 13: 'ENOSPC', 14: 'EACCES' }

const damagedRemedy = 'Keep a copy of the file, move it away, and restore the last backup.'

const remedies: Readonly<Record<string, string>> = {
  ENOENT: 'Make its folder, or correct SVC_ICL_DATABASE_URL. A link has to lead to a file.',
  EROFS: 'Mount the file system for writing, or name another file in SVC_ICL_DATABASE_URL.',
  ENOSPC: 'Make room on the disk.',
  EDQUOT: 'Make room on the disk.',
  EACCES: '',
  EPERM: '',
}

function remedyFor(file: string, code: string | undefined): string {
  const remedy = remedies[code ?? '']
  if (remedy) return remedy
  if (remedy === undefined) return 'Check its folder, its owner and its disk.'
  const user = known(() => process.geteuid?.())
  const owner = known(() => statSync(file).uid)
  const asUser = user === undefined ? 'the user of the ICL' : `uid ${user}, the user of the ICL,`
  if (owner === undefined) return `Allow ${asUser} to write to its folder.`
  return `It belongs to uid ${owner}. Give the database and the files beside it to ${asUser} (chown), or run the ICL as their owner.`
}

/** True when there is certainly no such file; a folder that is closed to this user may have it. */
export function isAbsent(file: string): boolean {
  try {
    return look(file) === undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOTDIR'
  }
}

/** Refuses a folder, a missing or empty database beside a log with saves, and a missing one for a guest. */
function checkDatabase(file: string, guest: boolean): void {
  // Looks at the log first: an ICL that starts at the same time writes the database first, which must not look empty beside a log.
  const log = `${file}-wal`
  const waiting = look(log)?.size ?? 0
  const found = look(file)
  if (found?.isDirectory()) {
    throw new SvcError('store-unavailable', `The database ${file} is a folder`, {
      hint: 'SVC_ICL_DATABASE_URL has to name a file.',
    })
  }
  if (waiting > 0 && (found === undefined || found.size === 0)) {
    throw new SvcError(
      'store-incomplete',
      `The database ${file} is ${found ? 'empty' : 'missing'}, but its log ${log} holds saves that only this database can take up`,
      {
        hint:
          'Put the database file back beside its log: check mounts and what was moved. If it is lost, move the log to a safe path ' +
          'and restore the last backup. Neither file was changed.',
      },
    )
  }
  if (guest && found === undefined) {
    throw new SvcError('store-missing', `There is no database ${file}`, {
      hint: 'SVC_ICL_DATABASE_URL has to name the file that the ICL uses. Its first start creates it.',
    })
  }
}

/** Refuses a file that has another name. Deno and systems without /proc do not tell mounts. */
function checkAlone(path: string, mounts: string): void {
  const isMounted = mounts.split('\n').some((line) => mountPointOf(line) === path)
  if (!isMounted && statSync(path).nlink < 2) return
  throw new SvcError(
    'store-unavailable',
    `The database ${path} ${isMounted ? 'is mounted as a file' : 'has another name (a hard link)'}, and its log and lock would stay apart from it`,
    {
      hint: isMounted
        ? 'Mount the folder with the database, its -wal and its -shm instead. Stop every ICL that has the file first.'
        : 'Remove the other name: `find / -samefile FILE` shows both. Keep the one that has a -wal next to it.',
    },
  )
}

/** The mount point in a line of `mountinfo`, where the kernel writes white space and backslashes as octal numbers. */
const mountPointOf = (line: string): string | undefined =>
  line
    .split(' ')[4]
    ?.replace(/\\(\d{3})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 8)))

/** True for a database that was made and has no log. When it has no tables either, they were in the log. */
export function hasLostLog(path: string): boolean {
  return (look(path)?.size ?? 0) > 0 && look(`${path}-wal`) === undefined
}

const look = (file: string): Stats | undefined => statSync(file, { throwIfNoEntry: false })

// Where a sqlite store lies: the database, and the lock file that one ICL at a time holds. What another program or user left in
// their place is refused by name, with what to do about it, and nothing that is there is changed.
import {
  accessSync,
  closeSync,
  constants,
  openSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { resolve } from 'node:path'
import { SvcError } from '../../lib/svc-error.ts'
import { isClosedToUs, isDamaged, isFull, troubleOf } from './sqlite-database.ts'

/** The file's real name; makes the file if it is not there, but never for a guest. Throws SvcError `store-...`. */
export function findPlace(name: string, guest: boolean): string {
  const file = resolve(name)
  try {
    checkDatabase(file, guest)
    if (!guest) createPrivately(file)
    const place = realpathSync(file)
    checkAccess(place)
    return place
  } catch (error) {
    throw error instanceof SvcError ? error : unusable(file, error)
  }
}

/** The lock file of a database, made if need be. */
export function findLock(place: string): string {
  const file = `${place}.lock`
  try {
    if (isFolder(file)) {
      throw new SvcError('store-unavailable', `The lock file ${file} is a folder`, {
        hint: 'Move the folder away. The ICL makes the lock file itself; it holds no data.',
      })
    }
    createPrivately(file)
    checkAccess(file)
    return file
  } catch (error) {
    throw error instanceof SvcError ? error : unusable(file, error)
  }
}

/** Why the lock file cannot be locked, other than because an ICL has it. */
export const unusableLock = (file: string, cause: unknown): SvcError =>
  isDamaged(cause)
    ? new SvcError('store-unavailable', `The lock file ${file} is damaged`, {
        hint: 'Delete it while no ICL uses the database. It holds no data.',
        cause,
      })
    : unusable(file, cause)

/** Why a file cannot be used, and what to do about it; the cause is an error of SQLite or of the system. */
export function unusable(file: string, cause: unknown): SvcError {
  const { code, message } = cause as NodeJS.ErrnoException
  const isSystems = code !== undefined && code in remedies
  const why = isSystems ? message : troubleOf(cause)
  const damaged = isDamaged(cause)
  return new SvcError(
    damaged ? 'store-corrupt' : 'store-unavailable',
    `The file ${file} cannot be used: ${why}`,
    { hint: damaged ? damagedRemedy : remedyFor(file, isSystems ? code : codeLike(cause)), cause },
  )
}

/** The system's code for what SQLite does not say more of. */
const codeLike = (cause: unknown): string | undefined =>
  isFull(cause) ? 'ENOSPC' : isClosedToUs(cause) ? 'EACCES' : undefined

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
  const user = process.geteuid?.()
  const owner = ownerOf(file)
  const asUser = user === undefined ? 'the user of the ICL' : `uid ${user}, the user of the ICL,`
  if (owner === undefined) return `Allow ${asUser} to write to its folder.`
  return `It belongs to uid ${owner}. Give the database and the files beside it to ${asUser} (chown), or run the ICL as their owner.`
}

function ownerOf(file: string): number | undefined {
  try {
    return statSync(file).uid
  } catch {
    return undefined
  }
}

/** Refuses what is no database. */
function checkDatabase(file: string, guest: boolean): void {
  const found = look(file)
  if (found?.isDirectory()) {
    throw new SvcError('store-unavailable', `The database ${file} is a folder`, {
      hint: 'SVC_ICL_DATABASE_URL has to name a file.',
    })
  }
  if (guest && found === undefined) {
    throw new SvcError('store-missing', `There is no database ${file}`, {
      hint: 'SVC_ICL_DATABASE_URL has to name the file that the ICL uses; its first start makes it.',
    })
  }
}

const look = (file: string): Stats | undefined => statSync(file, { throwIfNoEntry: false })

const isFolder = (file: string): boolean => look(file)?.isDirectory() ?? false

/** SQLite opens a file that it may not write for reading only, and says so late. */
function checkAccess(file: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK)
  } catch (error) {
    // Reads go on where the whole file system is read-only.
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error
  }
}

/** Makes a file unless there is one; one that is there is not even opened, because closing it would give up SQLite's locks on it. */
function createPrivately(file: string): void {
  try {
    closeSync(openSync(file, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

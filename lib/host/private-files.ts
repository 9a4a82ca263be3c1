import { randomUUID } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, type Stats, writeFileSync } from 'node:fs'
import { mkdir, open, readFile, readlink, realpath, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { errorMessage } from '../error-message.ts'
import { SvcError } from '../svc-error.ts'
import { ownerOnly, writeWhole } from './write-whole.ts'

/**
 * Writes JSON that only the owner can read (file 0600, new folders 0700). After a crash there is the old file or the new one. Of a link,
 * the target is written. A pipe, a device or this process's own output is written to as it is. Throws SvcError `file-unwritable`.
 */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  await makePrivateFolder(dirname(path))
  const text = `${JSON.stringify(value, null, 2)}\n`
  try {
    const found = await stat(path).catch(orAbsent)
    const output = found?.isFile() ? ownOutput(found) : undefined
    if (output !== undefined) writeFileSync(output, text)
    else if (found === undefined || found.isFile())
      writeWhole(await targetOf(path), text, ownerOnly)
    else await append(path, text)
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** Creates and removes a draft where `writePrivateJson` would; throws SvcError `file-unwritable` when it cannot. */
export async function tryToWrite(path: string): Promise<void> {
  await makePrivateFolder(dirname(path))
  try {
    const found = await stat(path).catch(orAbsent)
    if (found && (!found.isFile() || ownOutput(found) !== undefined)) return
    const draft = `${await targetOf(path)}.${randomUUID()}.new`
    await (await open(draft, 'ax', ownerOnly)).close()
    await rm(draft)
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** The descriptor of this process's output that goes to this very file, which a new file would replace. */
const ownOutput = ({ dev, ino }: Stats): number | undefined =>
  [process.stdout.fd, process.stderr.fd].find((fd) => {
    try {
      const output = fstatSync(fd)
      return output.dev === dev && output.ino === ino
    } catch {
      return false
    }
  })

/** Resolves a path; of a broken link, returns the file that it names. */
async function targetOf(path: string): Promise<string> {
  const real = await realpath(path).catch(orAbsent)
  if (real !== undefined) return real
  const named = await readlink(path).catch(() => undefined)
  return named === undefined ? path : resolve(dirname(path), named)
}

async function append(path: string, text: string): Promise<void> {
  const file = await open(path, constants.O_WRONLY | constants.O_APPEND)
  try {
    await file.writeFile(text)
  } finally {
    await file.close()
  }
}

/** Creates a folder for its owner only (0700) unless it exists; throws SvcError `file-unwritable`. */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unwritable(path, error)
  }
}

/** Creates an empty file (0600). Does not open an existing one: closing it would drop SQLite's locks on it. Throws the system's error. */
export function createPrivately(path: string): void {
  try {
    closeSync(openSync(path, 'wx', ownerOnly))
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/** Reads a JSON file; undefined when there is none. Throws SvcError `file-unreadable`, with `remedy` as its hint when it is not JSON. */
export async function readJson(path: string, remedy: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unreadable(path, error, 'Check who owns the file and its mode.')
  }
  try {
    return JSON.parse(text.replace(/^\ufeff/, ''))
  } catch (error) {
    throw unreadable(path, error, remedy)
  }
}

/** Reads a file of at most `maxBytes`; undefined when it is larger. Throws SvcError `file-unreadable` with the remedy. */
export async function readLimitedFile(
  path: string,
  maxBytes: number,
  remedy: string,
): Promise<Buffer | undefined> {
  try {
    return (await stat(path)).size <= maxBytes ? await readFile(path) : undefined
  } catch (error) {
    throw new SvcError('file-unreadable', errorMessage(error), { hint: remedy, cause: error })
  }
}

/** True when the path exists; throws SvcError `file-unreadable` when that cannot be told. */
export async function fileExists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw unreadable(path, error, 'Check who owns the folder and its mode.')
  }
}

/** The mode of a file that others than its owner may use, such as `0644`, else undefined. Windows has no such modes. */
export const exposedMode = ({ mode }: Pick<Stats, 'mode'>, others = 0o077): string | undefined =>
  (mode & others) === 0 || process.platform === 'win32'
    ? undefined
    : (mode & 0o777).toString(8).padStart(4, '0')

/** Warns of a file with a secret that others may read. */
export const exposureWarning = (path: string, mode: string): string =>
  `warning: others may read ${path} (mode ${mode}): chmod 600 ${path}`

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

function orAbsent(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error
}

const unwritable = (path: string, error: unknown): SvcError =>
  new SvcError('file-unwritable', `${path} cannot be written: ${errorMessage(error)}`, {
    hint: 'Check the free space of the disk, and who owns the folder.',
    cause: error,
  })

const unreadable = (path: string, error: unknown, hint: string): SvcError =>
  new SvcError('file-unreadable', `${path} cannot be read: ${errorMessage(error)}`, {
    hint,
    cause: error,
  })

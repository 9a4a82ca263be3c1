import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { SvcError } from '../lib/svc-error.ts'

/** Writes JSON for the owner's eyes only (file 0600, new folders 0700); a crash leaves the old file or the new one; throws SvcError `file-unwritable`. */
export async function writePrivateJson(path: string, value: unknown): Promise<void> {
  await makePrivateFolder(dirname(path))
  // Nobody can have put a file or a link there before.
  const draft = `${path}.${randomUUID()}.new`
  try {
    await writeNew(draft, `${JSON.stringify(value, null, 2)}\n`)
    await rename(draft, path)
  } catch (error) {
    await rm(draft, { force: true })
    throw unwritable(path, error)
  }
}

/** Makes a folder for its owner only (0700), unless it is there; throws SvcError `file-unwritable`. */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw unwritable(path, error)
  }
}

async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Reads a JSON file; undefined when there is none; throws SvcError `file-unreadable`. */
export async function readJson(path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw unreadable(path, error, 'Check who owns the file and its mode.')
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw unreadable(path, error, 'Correct the file: it has to be JSON.')
  }
}

/** True when there is something at the path. */
export async function fileExists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw unreadable(path, error, 'Check who owns the folder and its mode.')
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

const unwritable = (path: string, error: unknown): SvcError =>
  new SvcError(
    'file-unwritable',
    `${path} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    { hint: 'Check the free space of the disk, and who owns the folder.', cause: error },
  )

const unreadable = (path: string, error: unknown, hint: string): SvcError =>
  new SvcError(
    'file-unreadable',
    `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`,
    { hint, cause: error },
  )

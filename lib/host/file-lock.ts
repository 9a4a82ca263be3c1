import { errorMessage } from '../error-message.ts'
import { SvcError } from '../svc-error.ts'
import { createPrivately } from './private-files.ts'

// A database that nothing refers to is closed with the next garbage collection, and its file is then unlocked.
const held = new Set<object>()

/**
 * Takes the lock of a file for this process and resolves to what releases it, or to undefined while the lock is taken.
 * The file is made if need be, for its owner only (0600), and stays. The system holds the lock (it is that of an SQLite
 * file), so that it ends with the process however that ends, and counts between containers, where process numbers say
 * nothing. Throws SvcError `lock-unusable`.
 */
export async function takeFileLock(path: string): Promise<(() => void) | undefined> {
  let file: { exec(sql: string): void; close(): void } | undefined
  try {
    createPrivately(path)
    // Not every runtime that loads this file has the module.
    // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
    const { DatabaseSync } = await import('node:sqlite')
    const opened = new DatabaseSync(path)
    file = opened
    // Nothing is ever written, so that no file beside this one is needed.
    opened.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY')
    // EXCLUSIVE would let two that come at the same moment refuse each other.
    opened.exec('BEGIN IMMEDIATE')
    held.add(opened)
    return () => {
      if (held.delete(opened)) opened.close()
    }
  } catch (error) {
    file?.close()
    if (isTaken(error)) return undefined
    throw new SvcError('lock-unusable', `The lock ${path} cannot be used: ${errorMessage(error)}`, {
      hint: 'Check the disk, who owns the lock and its folder, and that the file system has locks. The lock holds no data: delete it if it is damaged or no file, while no process uses it.',
      cause: error,
    })
  }
}

/** In words: Deno gives no code. */
const isTaken = (error: unknown): boolean => errorMessage(error).includes('database is locked')

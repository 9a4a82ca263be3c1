import { errorMessage } from '../error-message.ts'
import { SvcError } from '../svc-error.ts'
import { createPrivately } from './private-files.ts'

// Keeps references: the garbage collector closes an unreferenced database, which unlocks its file.
const held = new Set<object>()

/**
 * Takes the lock of a file for this process. Resolves to a function that releases it, or to undefined while it is taken. Creates the file
 * if needed, for its owner only (0600), and leaves it there. The lock is that of an SQLite file, held by the system. So it ends with the
 * process in any case, and works between containers, where process numbers mean nothing. Throws SvcError `lock-unusable`.
 */
export async function takeFileLock(path: string): Promise<(() => void) | undefined> {
  let file: { exec(sql: string): void; close(): void } | undefined
  try {
    createPrivately(path)
    // Not every runtime that loads this file has this module.
    // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
    const { DatabaseSync } = await import('node:sqlite')
    const opened = new DatabaseSync(path)
    file = opened
    // Nothing is written, so SQLite needs no further file.
    opened.exec('PRAGMA busy_timeout = 0; PRAGMA journal_mode = MEMORY')
    // With EXCLUSIVE, two processes that come at the same moment could both be refused.
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

/** Matches the message, because Deno has no error code here. */
const isTaken = (error: unknown): boolean => errorMessage(error).includes('database is locked')

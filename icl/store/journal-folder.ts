import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toBase64Url } from '../../lib/digest.ts'
import { ownerOnly, writeWhole } from '../../lib/host/write-whole.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from './journal.ts'
import { openJournalFile } from './journal-file.ts'

/** A journal, and the name under which other replicas know the process that has it. */
export type JournalFolder = {
  readonly journal: Journal
  readonly replicaId: string
}

/**
 * Opens a folder with a journal for this process alone until the journal is closed, and makes it if need be (0700). Throws
 * SvcError `journal-locked`, `journal-damaged` or `journal-unusable`.
 */
export async function openJournalFolder(folder: string, random: Random): Promise<JournalFolder> {
  const unlock = await lockFolder(folder)
  try {
    // The journal keeps the lock: one that nobody refers to is let go of with the next garbage collection.
    const journal = await openJournalFile(folder, unlock)
    const replicaId = await keepId(join(folder, 'replica-id'), random)
    return { journal, replicaId }
  } catch (error) {
    unlock()
    throw error instanceof SvcError ? error : unusable(folder, error)
  }
}

const unusable = (folder: string, error: unknown): SvcError =>
  new SvcError('journal-unusable', `The journal folder ${folder} cannot be used: ${error}`, {
    hint: 'SVC_ICL_JOURNAL_DIR has to be a folder that the ICL may write to and that outlives it.',
    cause: error,
  })

/** Holds the folder for as long as this process lives: the system lets go of it however that ends. */
async function lockFolder(folder: string): Promise<() => void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    // biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
    const sqlite = await import('node:sqlite')
    const lock = new sqlite.DatabaseSync(join(folder, 'lock'))
    try {
      lock.exec('BEGIN EXCLUSIVE')
    } catch {
      lock.close()
      throw new SvcError('journal-locked', `Another ICL uses the journal folder ${folder}`, {
        hint: 'Give each replica a folder of its own with SVC_ICL_JOURNAL_DIR.',
      })
    }
    return () => lock.close()
  } catch (error) {
    throw error instanceof SvcError ? error : unusable(folder, error)
  }
}

/** The id in a file, made at the first start. */
async function keepId(file: string, random: Random): Promise<string> {
  const known = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (/^[\w-]{16}$/.test(known)) return known
  const id = toBase64Url(random.bytes(12))
  writeWhole(file, `${id}\n`, ownerOnly)
  return id
}

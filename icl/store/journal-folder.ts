import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { toBase64Url } from '../../lib/digest.ts'
import { takeFileLock } from '../../lib/host/file-lock.ts'
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
 * SvcError `journal-locked`, `journal-damaged`, `journal-unusable` or `lock-unusable`.
 */
export async function openJournalFolder(folder: string, random: Random): Promise<JournalFolder> {
  const unlock = await lockFolder(folder)
  try {
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

async function lockFolder(folder: string): Promise<() => void> {
  await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unusable(folder, error)
  })
  const unlock = await takeFileLock(join(folder, 'lock'))
  if (unlock) return unlock
  throw new SvcError('journal-locked', `Another ICL uses the journal folder ${folder}`, {
    hint: 'Give each replica a folder of its own with SVC_ICL_JOURNAL_DIR.',
  })
}

/** The id in a file, made at the first start. */
async function keepId(file: string, random: Random): Promise<string> {
  const known = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (/^[\w-]{16}$/.test(known)) return known
  const id = toBase64Url(random.bytes(12))
  writeWhole(file, `${id}\n`, ownerOnly)
  return id
}

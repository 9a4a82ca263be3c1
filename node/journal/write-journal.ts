import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { lineOf } from './step-lines.ts'
import type { JournalStep } from './steps.ts'

// About 1 MB. An ICL that has lost its jobs may offer one of them again as if it were new.
/** So many of the latest signed answers are kept in mind. */
export const rememberedStatements = 10_000

/** Puts a file with these steps in the place of the old one, and gives it open; a crash or a failure leaves the old file or the new one. */
export function replaceJournal(path: string, steps: readonly JournalStep[]): number {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  const file = openSync(draft, 'ax', 0o600)
  try {
    writeWhole(file, steps.map(lineOf).join(''))
    fsyncSync(file)
    renameSync(draft, path)
    return file
  } catch (error) {
    closeSync(file)
    rmSync(draft, { force: true })
    throw error
  }
}

/** Writes all of a text. */
export function writeWhole(file: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}

/** Makes new names in a folder outlive the machine's end. */
export function syncFolder(folder: string): void {
  // Windows opens no folders, and needs none synced.
  if (process.platform === 'win32') return
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Names the journal in what goes wrong with it; throws SvcError `journal-unwritable`. */
export function orUnwritable<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (error instanceof SvcError) throw error
    const why = errorMessage(error)
    throw new SvcError('journal-unwritable', `the job journal ${path} cannot be used: ${why}`, {
      hint: 'Check the disk, and who owns the folder of the configuration.',
      cause: error,
    })
  }
}

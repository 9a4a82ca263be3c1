import { rmSync } from 'node:fs'
import { errorMessage } from '../../lib/error-message.ts'
import { ownerOnly, replaceWhole } from '../../lib/host/write-whole.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { lineOf } from './step-lines.ts'
import type { JournalStep } from './steps.ts'

// About 1 MB. An ICL that has lost its jobs may offer one of them again as if it were new.
/** So many of the latest signed answers are kept in mind. */
export const rememberedStatements = 10_000

/** Puts a file with these steps in the place of the old one, and gives it open. The folder is still to be synced. */
export function replaceJournal(path: string, steps: readonly JournalStep[]): number {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  return replaceWhole(path, steps.map(lineOf).join(''), { mode: ownerOnly, draft })
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

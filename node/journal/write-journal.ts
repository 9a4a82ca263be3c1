import { rmSync } from 'node:fs'
import { ownerOnly, replaceWhole } from '../../lib/host/write-whole.ts'
import { orUnusable } from '../rotating-file.ts'
import { lineOf } from './step-lines.ts'
import type { JournalStep } from './steps.ts'

/** The latest assignments signed for that are remembered, about 1 MB: an ICL that has lost its jobs may offer one of them again as new. */
export const rememberedStatements = 10_000

/** Replaces the journal with a file of these steps, and returns it open. The caller syncs the folder. */
export function replaceJournal(path: string, steps: readonly JournalStep[]): number {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  return replaceWhole(path, steps.map(lineOf).join(''), { mode: ownerOnly, draft })
}

/** Runs `work` and names the journal in its errors. Throws SvcError `journal-unwritable`. */
export const orUnwritable = <T>(path: string, work: () => T): T =>
  orUnusable('journal-unwritable', `the job journal ${path}`, work, {
    hint: 'Check the disk, and who owns the folder of the configuration.',
  })

import type { JournalEntry, JournalStep } from './steps.ts'

/** What the node has begun and not ended, kept so that a killed daemon can go on where it was (spec 3.3). */
export interface Journal {
  /** The jobs that were unfinished when the journal was opened, oldest first. */
  readonly unfinished: readonly JournalEntry[]
  /** Whether a result or a verdict was signed for this assignment before: another one would contradict it. */
  hasSigned(id: Pick<JournalStep, 'jobId' | 'fence'>): boolean
  /** Adds a step; it is on disk when this returns; throws SvcError `journal-unwritable`. */
  note(step: JournalStep): void
}

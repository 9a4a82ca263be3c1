import type { JobId } from '../../lib/codecs.ts'
import type { JournalEntry, JournalStep, SignedStep } from './steps.ts'

/** The log of jobs that have begun and not ended, so that a killed daemon can resume them (spec 3.3). */
export interface Journal {
  /** The jobs that were unfinished when the journal was opened, oldest first. */
  readonly unfinished: readonly JournalEntry[]
  /** Whether anything was signed for this assignment before. */
  isSigned(id: Pick<JournalStep, 'jobId' | 'fence'>): boolean
  /** Whether an answer, a delivery, or a verdict on the same delivery was signed before, which another one would contradict. */
  hasSigned(step: SignedStep): boolean
  /** How often the provider was asked for a job, under all its fences. */
  askedFor(jobId: JobId): number
  /** Adds a step. The step is on disk when this returns. Throws SvcError `journal-unwritable`. */
  note(step: JournalStep): void
}

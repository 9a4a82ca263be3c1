import type { JobId } from '../../lib/codecs.ts'
import type { JournalEntry, JournalStep, SignedStep } from './steps.ts'

/** What the node has begun and not ended, kept so that a killed daemon can go on where it was (spec 3.3). */
export interface Journal {
  /** The jobs that were unfinished when the journal was opened, oldest first. */
  readonly unfinished: readonly JournalEntry[]
  /** Whether anything was signed for this assignment before. */
  isSigned(id: Pick<JournalStep, 'jobId' | 'fence'>): boolean
  /** Whether an answer, a delivery, or a verdict on the same delivery was signed before: another one would contradict it. */
  hasSigned(step: SignedStep): boolean
  /** How often the provider was asked for a job, under all its assignments. */
  askedFor(jobId: JobId): number
  /** Adds a step; it is on disk when this returns; throws SvcError `journal-unwritable`. */
  note(step: JournalStep): void
}

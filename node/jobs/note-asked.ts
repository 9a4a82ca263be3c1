import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { AssignmentId } from './job-deps.ts'

/**
 * Every question to the provider is paid, and the ICL says how often a job comes back. An honest one gives a node three turns at a seat, of which
 * each may be begun anew after a restart, and up to six deliveries to score.
 */
export const mostQuestions = 12

/** Puts on disk that the provider is about to be asked; throws SvcError `asked-enough` when it was asked as often as any job may need, under whatever fences. */
export function noteAsked(journal: Journal, { jobId, fence }: AssignmentId): void {
  if (journal.askedFor(jobId) >= mostQuestions) throw askedEnough()
  journal.note({ step: 'asked', jobId, fence })
}

const askedEnough = (): SvcError =>
  new SvcError(
    'asked-enough',
    `the ICL asks for the same job again and again: the provider was asked ${mostQuestions} times for it, and is asked no more`,
    { hint: 'Tell the operator of the ICL. If it stays, do not work for this ICL.' },
  )

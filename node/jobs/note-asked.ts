import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { AssignmentId } from './job-deps.ts'

/**
 * Limits the paid calls to the provider for one job, because the ICL decides how often a job comes back. An honest ICL gives a node up to
 * three turns at a seat, each of which may start again after a restart, and six deliveries to score.
 */
export const mostQuestions = 12

/** Notes on disk that the node is about to ask the provider. Throws SvcError `asked-enough` after `mostQuestions`, under any fence. */
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

import { remedyFor } from '../../lib/causes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { SignedStep } from '../journal/steps.ts'

/** The error for an assignment in which another statement would contradict one that the node signed before. */
export const signedBefore = (): SvcError =>
  new SvcError('signed-before', 'this node has signed an answer to this very assignment before', {
    hint: remedyFor('node operator', 'signed-before'),
  })

/** Writes a signed statement to disk before it is sent. Throws SvcError `signed-before` if it would contradict an earlier one. */
export function noteSigned(journal: Journal, step: SignedStep): void {
  // Checked last: the same assignment may have been worked on twice concurrently.
  if (journal.hasSigned(step)) throw signedBefore()
  journal.note(step)
}

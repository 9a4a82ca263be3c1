import { remedyFor } from '../../lib/causes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { SignedStep } from '../journal/steps.ts'

/** The error of an assignment for which something was signed before that another statement would contradict. */
export const signedBefore = (): SvcError =>
  new SvcError('signed-before', 'this node has signed an answer to this very assignment before', {
    hint: remedyFor('node operator', 'signed-before'),
  })

/** Puts a signed statement on disk, before anybody gets it, unless there is one that it would contradict; throws SvcError `signed-before`. */
export function noteSigned(journal: Journal, step: SignedStep): void {
  // Asked last of all: the same assignment may have been worked on twice side by side.
  if (journal.hasSigned(step)) throw signedBefore()
  journal.note(step)
}

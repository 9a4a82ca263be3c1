import { remedyFor } from '../../lib/causes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalStep } from '../journal/steps.ts'

/** The error of an assignment to which an answer was signed before: another one would contradict it. */
export const signedBefore = (): SvcError =>
  new SvcError('signed-before', 'this node has signed an answer to this very assignment before', {
    hint: remedyFor('node operator', 'signed-before'),
  })

/** Puts a signed answer on disk, before anybody gets it, unless there is one for its assignment; throws SvcError `signed-before`. */
export function noteSigned(
  journal: Journal,
  step: Extract<JournalStep, { step: 'result' | 'verdict' }>,
): void {
  // Asked last of all: the same assignment may have been worked on twice side by side.
  if (journal.hasSigned(step)) throw signedBefore()
  journal.note(step)
}

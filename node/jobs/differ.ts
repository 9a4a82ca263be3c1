import { comparators } from '../../lib/comparators/all.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import type { Evidence } from '../../lib/schemas/evidence.ts'
import type { VerdictReason } from '../../lib/schemas/jobs.ts'

/** Returns how two answers differ, by their evidence alone, so that anyone can recompute it. Undefined when they match. */
export function differenceOf(
  { comparator }: Pick<ClaimResult, 'comparator'>,
  theirs: Evidence,
  own: Evidence,
): VerdictReason | undefined {
  switch (comparators[comparator].compare(theirs, own)) {
    case 'match':
      return undefined
    case 'no-match':
      return 'different-answer'
    case 'inconclusive':
      return 'inconclusive'
  }
}

import { evidenceOfWhole, normalise } from '../evidence.ts'
import { defineComparator, explainEqual } from './define-comparator.ts'

/** Answers match when they are equal after normalisation; for models that decode deterministically. */
export const exact = defineComparator({
  id: 'exact',
  canBeInconclusive: false,
  async evidenceOf({ text, key }) {
    return { comparator: 'exact', ...(await evidenceOfWhole(key, normalise(text))) }
  },
  malformation: ({ sketch }) => (sketch === undefined ? undefined : 'exact evidence has no sketch'),
  explain: (a, b) => explainEqual(a, b, 'texts'),
})

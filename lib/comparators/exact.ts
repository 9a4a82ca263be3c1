import { countTokens, digestOf, normalise } from '../evidence.ts'
import { defineComparator, explainEqual } from './define-comparator.ts'

/** Answers match when they are equal after normalisation; for models that decode deterministically. */
export const exact = defineComparator({
  id: 'exact',
  canBeInconclusive: false,
  async evidenceOf({ text, key }) {
    const normalised = normalise(text)
    return {
      comparator: 'exact',
      digest: await digestOf(key, normalised),
      tokens: countTokens(normalised),
    }
  },
  malformation: ({ sketch }) => (sketch === undefined ? undefined : 'exact evidence has no sketch'),
  explain: (a, b) => explainEqual(a, b, 'texts'),
})

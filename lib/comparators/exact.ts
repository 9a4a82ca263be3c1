import { countTokens, digestOf, normalise } from '../evidence.ts'
import type { Comparator } from './comparator.ts'

/** Answers match when they are equal after normalisation; for models that decode deterministically. */
export const exact: Comparator = {
  id: 'exact',
  async evidenceOf(text, key) {
    const normalised = normalise(text)
    return {
      comparator: 'exact',
      digest: await digestOf(key, normalised),
      tokens: countTokens(normalised),
    }
  },
  malformation: (evidence) => {
    if (evidence.comparator !== 'exact') return `it was made by ${evidence.comparator}, not exact`
    if (evidence.sketch !== undefined) return 'exact evidence has no sketch'
    return undefined
  },
  // Equal digests with different token counts cannot come from one text: one of them lies.
  compare: (a, b) => (a.digest === b.digest && a.tokens === b.tokens ? 'match' : 'no-match'),
}

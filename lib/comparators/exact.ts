import { countTokens, digestOf, normalise, sameEvidence } from '../evidence.ts'
import type { Evidence } from '../schemas/evidence.ts'
import type { Comparator, Explanation } from './comparator.ts'

/** Answers match when they are equal after normalisation; for models that decode deterministically. */
export const exact: Comparator = {
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
  malformation,
  compare: (a, b) => explain(a, b).outcome,
  explain,
  reproduces: sameEvidence,
}

function malformation(evidence: Evidence): string | undefined {
  if (evidence.comparator !== 'exact') return `it was made by ${evidence.comparator}, not exact`
  if (evidence.sketch !== undefined) return 'exact evidence has no sketch'
  return undefined
}

function explain(a: Evidence, b: Evidence): Explanation {
  const wrong = malformation(a) ?? malformation(b)
  if (wrong !== undefined) return { outcome: 'no-match', why: `malformed evidence: ${wrong}` }
  if (a.digest !== b.digest) return { outcome: 'no-match', why: 'the texts differ' }
  // Equal digests with different token counts cannot come from one text, so one is false.
  if (a.tokens !== b.tokens) return { outcome: 'no-match', why: 'the token counts contradict' }
  return { outcome: 'match', why: 'equal texts' }
}

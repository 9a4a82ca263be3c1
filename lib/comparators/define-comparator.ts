import { sameEvidence } from '../evidence.ts'
import type { Evidence } from '../schemas/evidence.ts'
import type { Comparator, Explanation } from './comparator.ts'

/** Completes a comparator. Its own functions get only evidence that names it, and `explain` only well-formed evidence. */
export function defineComparator(own: Omit<Comparator, 'compare' | 'reproduces'>): Comparator {
  const found = new WeakMap<Evidence, { readonly wrong: string | undefined }>()
  const look = (evidence: Evidence): string | undefined => {
    const { comparator, tokens, units } = evidence
    if (comparator !== own.id) return `it was made by ${comparator}, not ${own.id}`
    if (tokens > 0 && units === 0) return 'it has tokens and no units'
    return own.malformation(evidence)
  }
  // A decision compares each answer with all others, several times.
  const malformation: Comparator['malformation'] = (evidence) => {
    const known = found.get(evidence) ?? { wrong: look(evidence) }
    found.set(evidence, known)
    return known.wrong
  }
  const explain = (a: Evidence, b: Evidence): Explanation => {
    const wrong = malformation(a) ?? malformation(b)
    if (wrong === undefined) return own.explain(a, b)
    return { outcome: 'no-match', why: `malformed evidence: ${wrong}` }
  }
  const compare: Comparator['compare'] = (a, b) => explain(a, b).outcome
  return { ...own, malformation, explain, compare, reproduces: sameEvidence }
}

/** Compares evidence for equality; `contents` says of what. */
export function explainEqual(a: Evidence, b: Evidence, contents: string): Explanation {
  if (a.digest !== b.digest) return { outcome: 'no-match', why: `the ${contents} differ` }
  // Equal digests with different counts cannot come from one text, so one is false.
  if (a.tokens !== b.tokens || a.units !== b.units) {
    return { outcome: 'no-match', why: 'the counts of tokens or units contradict' }
  }
  return { outcome: 'match', why: `equal ${contents}` }
}

import type { Explanation } from './comparator.ts'
import type { Likeness } from './similar/similarities.ts'
import {
  type LengthClass,
  leastLengthRatio,
  nearCopyTrigrams,
  unrelatedBelow,
  wordedAlike,
} from './similar/thresholds.ts'

/** Decides on two answers by their likeness. `lengthRatio` is the shorter's tokens to the longer's in thousandths. */
export function verdictOf(likeness: Likeness, lengthRatio: number): Explanation {
  const { sameText, sameAnswer, shorter, longer, shared } = likeness
  const similarities = { ...shared, length: lengthRatio }
  const match = (why: string): Explanation => ({ outcome: 'match', why, similarities })
  const inconclusive = (why: string): Explanation => ({
    outcome: 'inconclusive',
    why,
    similarities,
  })
  const noMatch = (why: string): Explanation => ({ outcome: 'no-match', why, similarities })
  if (sameText) return match('equal but for the way they are set')
  const isMuchShorter = lengthRatio < leastLengthRatio
  if (shorter === 'short') {
    // A bare letter does not prove the work of a reasoned answer.
    if (longer !== 'short' && isMuchShorter) return inconclusive('one is much shorter')
    if (sameAnswer === true) {
      // The tag covers only the final answer, not the rest of the text.
      return shared.links < 1_000
        ? inconclusive('the links differ')
        : match('the same short answer')
    }
    return inconclusive('short answers differ, as honest ones may')
  }
  if (isUnrelated(shared, lengthRatio)) return noMatch('the answers have nothing in common')
  if (sameAnswer === false) return inconclusive('the final answers differ')
  if (!isWordedAlike(shared, shorter)) return inconclusive('the wording differs')
  if (isMuchShorter) return inconclusive('one is much shorter')
  if (shared.links < 1_000) return inconclusive('the links differ')
  const sameFacts = [shared.numbers, shared.names, shared.negators].every((one) => one === 1_000)
  if (shared.trigrams >= nearCopyTrigrams[shorter] && !sameFacts) {
    return inconclusive('near copies that differ in a number, a name or a negation')
  }
  return match('the same wording')
}

const isUnrelated = ({ trigrams, words }: Likeness['shared'], lengthRatio: number): boolean =>
  trigrams < unrelatedBelow.trigrams &&
  words < unrelatedBelow.words &&
  words * 1_000 < unrelatedBelow.wordsOfShorter * lengthRatio

const isWordedAlike = (
  shared: Likeness['shared'],
  length: Exclude<LengthClass, 'short'>,
): boolean =>
  wordedAlike[length].some(
    ({ trigrams, sum }) => shared.trigrams >= trigrams && shared.trigrams + shared.words >= sum,
  )

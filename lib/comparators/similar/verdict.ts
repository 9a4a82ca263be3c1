import type { Explanation } from '../comparator.ts'
import type { Likeness } from './similarities.ts'
import {
  type LengthClass,
  leastLengthRatio,
  nearCopyTrigrams,
  shippedWording,
  unrelatedBelow,
  type Wording,
} from './thresholds.ts'

/** What an embedding says of two answers, where there is one. */
export type Meaning = 'alike' | 'unclear' | 'unrelated'

/**
 * What a likeness says of two answers; `lengthRatio` is the shorter's tokens to the longer's in thousandths. A meaning decides only where
 * the wording does not: an embedding sees neither a changed fact nor which of two short answers is right.
 */
export function verdictOf(
  likeness: Likeness,
  lengthRatio: number,
  meaning?: Meaning,
  wording: Wording = shippedWording,
): Explanation {
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
    // A letter alone is not the work that a reasoned answer is.
    if (longer !== 'short' && isMuchShorter) return inconclusive('one is much shorter')
    if (sameAnswer === true) {
      // The tag is of the answer alone, and not of what else stands there.
      return shared.links < 1_000
        ? inconclusive('the links differ')
        : match('the same short answer')
    }
    return inconclusive('short answers differ, as honest ones may')
  }
  if (isUnrelated(shared, shorter) && (meaning === undefined || meaning === 'unrelated')) {
    return noMatch('the answers have nothing in common')
  }
  if (sameAnswer === false) return inconclusive('the final answers differ')
  const wordedAlike = isWordedAlike(shared, shorter, wording)
  if (!wordedAlike) {
    if (meaning === 'unrelated' && shorter !== 'brief') return noMatch('the meanings differ')
    // An embedding takes a prompt that is repeated for an answer to it: something beyond the prompt has to be shared.
    const isMeantAlike = meaning === 'alike' && shared.trigrams >= unrelatedBelow.trigrams
    if (!isMeantAlike) return inconclusive('the wording differs')
  }
  if (isMuchShorter) return inconclusive('one is much shorter')
  if (shared.links < 1_000) return inconclusive('the links differ')
  const sameFacts = [shared.numbers, shared.names, shared.negators].every((one) => one === 1_000)
  if (shared.trigrams >= nearCopyTrigrams[shorter] && !sameFacts) {
    return inconclusive('near copies that differ in a number, a name or a negation')
  }
  return match(wordedAlike ? 'the same wording' : 'the same meaning in other words')
}

/** Brief answers share too little by nature to say so of them. */
const isUnrelated = ({ trigrams, words }: Likeness['shared'], length: LengthClass): boolean =>
  length !== 'brief' && trigrams < unrelatedBelow.trigrams && words < unrelatedBelow.words

const isWordedAlike = (
  { trigrams, words }: Likeness['shared'],
  length: Exclude<LengthClass, 'short'>,
  { accepted, supported, supportedSum }: Wording,
): boolean =>
  trigrams >= accepted[length] ||
  (trigrams >= supported[length] && trigrams + words >= supportedSum)

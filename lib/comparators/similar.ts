import { toBase64Url } from '../digest.ts'
import { countUnits, digestOf, normalise } from '../evidence.ts'
import { type Evidence, maxEvidenceCount } from '../schemas/evidence.ts'
import type { Explanation } from './comparator.ts'
import { defineComparator, explainEqual } from './define-comparator.ts'
import { featuresOf } from './similar/features.ts'
import { type Likeness, likenessOf } from './similar/similarities.ts'
import { sketchOf } from './similar/sketch.ts'
import { sketchBytesOf, sketchMalformation } from './similar/sketch-form.ts'
import {
  type LengthClass,
  leastLengthRatio,
  nearCopyTrigrams,
  unrelatedBelow,
  wordedAlike,
} from './similar/thresholds.ts'

/** Answers match when their wording is similar and their facts agree, as far as these show. For models whose answers hardly vary. */
export const similar = defineComparator({
  id: 'similar/2',
  canBeInconclusive: true,
  async evidenceOf({ text, prompt, key }) {
    // The sketch is of the normalised text, so equal digests mean equal sketches.
    const normalised = normalise(text)
    const features = featuresOf(normalised)
    return {
      comparator: 'similar/2',
      digest: await digestOf(key, normalised),
      sketch: toBase64Url(await sketchOf(features, prompt, key)),
      tokens: Math.min(features.tokenCount, maxEvidenceCount),
      units: countUnits(normalised),
    }
  },
  malformation({ sketch, tokens }) {
    const bytes = sketchBytesOf(sketch)
    return bytes ? sketchMalformation(bytes, tokens) : 'there is no sketch in base64url'
  },
  explain(a, b) {
    if (a.digest === b.digest) return explainEqual(a, b, 'texts')
    const [bytesA, bytesB] = [sketchBytesOf(a.sketch), sketchBytesOf(b.sketch)]
    if (!bytesA || !bytesB) throw new TypeError('Evidence that was checked has a sketch')
    return verdictOf(likenessOf(bytesA, bytesB), lengthRatioOf(a, b))
  },
})

/** The shorter answer's tokens to the longer's, in thousandths. */
const lengthRatioOf = (a: Evidence, b: Evidence): number =>
  Math.floor((Math.min(a.tokens, b.tokens) * 1_000) / Math.max(a.tokens, b.tokens, 1))

/** Decides on two answers by their likeness. `lengthRatio` is the shorter's tokens to the longer's in thousandths. */
export function verdictOf(likeness: Likeness, lengthRatio: number): Explanation {
  const { sameText, sameAnswer, shorter, longer, shared } = likeness
  const similarities = { ...shared, length: lengthRatio }
  const by =
    (outcome: Explanation['outcome']) =>
    (why: string): Explanation => ({ outcome, why, similarities })
  const [match, inconclusive, noMatch] = [by('match'), by('inconclusive'), by('no-match')]
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

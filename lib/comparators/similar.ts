import { toBase64Url } from '../digest.ts'
import { digestOf, normalise } from '../evidence.ts'
import { type Evidence, maxEvidenceTokens } from '../schemas/evidence.ts'
import { defineComparator } from './define-comparator.ts'
import { featuresOf } from './similar/features.ts'
import { likenessOf } from './similar/similarities.ts'
import { sketchOf } from './similar/sketch.ts'
import { sketchBytesOf, sketchMalformation } from './similar/sketch-form.ts'
import { verdictOf } from './similar-verdict.ts'

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
      tokens: Math.min(features.tokenCount, maxEvidenceTokens),
    }
  },
  malformation({ sketch, tokens }) {
    const bytes = sketchBytesOf(sketch)
    return bytes ? sketchMalformation(bytes, tokens) : 'there is no sketch in base64url'
  },
  explain(a, b) {
    if (a.digest === b.digest) return { outcome: 'match', why: 'equal texts' }
    const [bytesA, bytesB] = [sketchBytesOf(a.sketch), sketchBytesOf(b.sketch)]
    if (!bytesA || !bytesB) throw new TypeError('Evidence that was checked has a sketch')
    return verdictOf(likenessOf(bytesA, bytesB), lengthRatioOf(a, b))
  },
})

/** The shorter answer's tokens to the longer's, in thousandths. */
const lengthRatioOf = (a: Evidence, b: Evidence): number =>
  Math.floor((Math.min(a.tokens, b.tokens) * 1_000) / Math.max(a.tokens, b.tokens, 1))

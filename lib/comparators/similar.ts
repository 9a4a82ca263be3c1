import { toBase64Url } from '../digest.ts'
import { digestOf, normalise, sameEvidence } from '../evidence.ts'
import { type Evidence, maxEvidenceTokens } from '../schemas/evidence.ts'
import type { Comparator, EvidenceInput, Explanation } from './comparator.ts'
import { featuresOf } from './similar/features.ts'
import { likenessOf } from './similar/similarities.ts'
import { sketchOf } from './similar/sketch.ts'
import { sketchBytesOf, sketchMalformation } from './similar/sketch-form.ts'
import { verdictOf } from './similar-verdict.ts'

/** Answers match when their wording is similar and their facts agree, as far as these show. For models whose answers hardly vary. */
export const similar: Comparator = {
  id: 'similar/2',
  canBeInconclusive: true,
  evidenceOf,
  malformation,
  compare: (a, b) => explain(a, b).outcome,
  explain,
  reproduces: sameEvidence,
}

async function evidenceOf({ text, prompt, key }: EvidenceInput): Promise<Evidence> {
  // The sketch is of the normalised text, so equal digests mean equal sketches.
  const normalised = normalise(text)
  const features = featuresOf(normalised)
  return {
    comparator: 'similar/2',
    digest: await digestOf(key, normalised),
    sketch: toBase64Url(await sketchOf(features, prompt, key)),
    tokens: Math.min(features.tokenCount, maxEvidenceTokens),
  }
}

function malformation({ comparator, sketch, tokens }: Evidence): string | undefined {
  if (comparator !== 'similar/2') return `it was made by ${comparator}, not similar/2`
  const bytes = sketchBytesOf(sketch)
  return bytes ? sketchMalformation(bytes, tokens) : 'there is no sketch in base64url'
}

function explain(a: Evidence, b: Evidence): Explanation {
  const wrong = malformation(a) ?? malformation(b)
  const [bytesA, bytesB] = [sketchBytesOf(a.sketch), sketchBytesOf(b.sketch)]
  if (wrong !== undefined || !bytesA || !bytesB) {
    return { outcome: 'no-match', why: `malformed evidence: ${wrong}` }
  }
  if (a.digest === b.digest) return { outcome: 'match', why: 'equal texts' }
  return verdictOf(likenessOf(bytesA, bytesB), lengthRatioOf(a, b))
}

/** The shorter answer's tokens to the longer's, in thousandths. */
const lengthRatioOf = (a: Evidence, b: Evidence): number =>
  Math.floor((Math.min(a.tokens, b.tokens) * 1_000) / Math.max(a.tokens, b.tokens, 1))

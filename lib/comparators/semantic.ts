import { concatBytes, fromBase64Url, toBase64Url } from '../digest.ts'
import { normalise } from '../evidence.ts'
import type { Evidence } from '../schemas/evidence.ts'
import type { Comparator, EvidenceInput, Explanation } from './comparator.ts'
import { embeddedPartOf } from './semantic/embedding-model.ts'
import { bitDistance, meaningBitsOf } from './semantic/meaning-bits.ts'
import {
  alikeDistance,
  meaningBits,
  sameTextDistance,
  unrelatedDistance,
} from './semantic/thresholds.ts'
import { likenessOf } from './similar/similarities.ts'
import { isPeriodic, sketchBytesOf, sketchMalformation } from './similar/sketch-form.ts'
import { sketchBytes } from './similar/sketch-layout.ts'
import { type Meaning, verdictOf } from './similar/verdict.ts'
import { lengthRatioOf, similarEvidence } from './similar.ts'

const semanticBytes = sketchBytes + meaningBits / 8

// Ten standard deviations from half of the bits: an honest embedding is this far off once in 10^22.
const mostUneven = 226

/** `similar/1` and, where the wording differs, whether the answers mean alike by one embedding model; for models that only sample. */
export const semantic: Comparator = {
  id: 'semantic/1',
  needsEmbedding: true,
  evidenceOf: semanticEvidence,
  malformation,
  compare: (a, b) => explain(a, b).outcome,
  explain,
  reproduces,
}

/** Without an embedding model the evidence has its lexical part only: enough to check a text by, too little to vote with. */
async function semanticEvidence(input: EvidenceInput): Promise<Evidence> {
  const lexical = await similarEvidence(input)
  const { text, key, embed, signal = new AbortController().signal } = input
  const evidence: Evidence = { ...lexical, comparator: 'semantic/1' }
  if (!embed) return evidence
  const part = embeddedPartOf(normalise(text))
  // Models refuse an empty text; any fixed vector will do for it.
  const vector = part === '' ? [1] : await embed(part, signal)
  const sketch = concatBytes(fromBase64Url(lexical.sketch ?? ''), await meaningBitsOf(vector, key))
  return { ...evidence, sketch: toBase64Url(sketch) }
}

function malformation({ comparator, sketch, tokens }: Evidence): string | undefined {
  if (comparator !== 'semantic/1') return `it was made by ${comparator}, not semantic/1`
  const bytes = sketchBytesOf(sketch)
  if (!bytes) return 'there is no sketch in base64url'
  if (bytes.length !== semanticBytes) {
    return `the sketch has ${bytes.length} bytes, not ${semanticBytes}`
  }
  const meaning = meaningPart(bytes)
  const ones = bitDistance(meaning, new Uint8Array(meaning.length))
  if (Math.abs(ones - meaningBits / 2) > mostUneven || isPeriodic(meaning)) {
    return "the sketch's embedding has hardly any entropy"
  }
  return sketchMalformation(lexicalPart(bytes), tokens)
}

function explain(a: Evidence, b: Evidence): Explanation {
  const wrong = malformation(a) ?? malformation(b)
  const [bytesA, bytesB] = [sketchBytesOf(a.sketch), sketchBytesOf(b.sketch)]
  if (wrong !== undefined || !bytesA || !bytesB) {
    return { outcome: 'no-match', why: `malformed evidence: ${wrong}` }
  }
  if (a.digest === b.digest) return { outcome: 'match', why: 'equal texts' }
  const distance = bitDistance(meaningPart(bytesA), meaningPart(bytesB))
  const likeness = likenessOf(lexicalPart(bytesA), lexicalPart(bytesB))
  const explained = verdictOf(likeness, lengthRatioOf(a, b), meaningOf(distance))
  const meaning = Math.max(0, 1_000 - Math.floor((2_000 * distance) / meaningBits))
  return { ...explained, similarities: { ...explained.similarities, meaning } }
}

const meaningOf = (distance: number): Meaning => {
  if (distance <= alikeDistance) return 'alike'
  return distance >= unrelatedDistance ? 'unrelated' : 'unclear'
}

function reproduces(shown: Evidence, claimed: Evidence): boolean {
  const [shownBytes, claimedBytes] = [sketchBytesOf(shown.sketch), sketchBytesOf(claimed.sketch)]
  if (!shownBytes || !claimedBytes || malformation(claimed) !== undefined) return false
  const isSameText =
    shown.comparator === claimed.comparator &&
    shown.digest === claimed.digest &&
    shown.tokens === claimed.tokens &&
    bitDistance(lexicalPart(shownBytes), lexicalPart(claimedBytes)) === 0
  if (!isSameText) return false
  if (shownBytes.length === sketchBytes) return true
  return bitDistance(meaningPart(shownBytes), meaningPart(claimedBytes)) <= sameTextDistance
}

const lexicalPart = (sketch: Uint8Array): Uint8Array => sketch.subarray(0, sketchBytes)
const meaningPart = (sketch: Uint8Array): Uint8Array => sketch.subarray(sketchBytes)

import { hmacSha256, toBase64Url, utf8 } from './digest.ts'
import { type Evidence, maxEvidenceCount } from './schemas/evidence.ts'

type Bytes = Uint8Array<ArrayBuffer>

// Unicode's stream-safe text format. Engines sort long runs of marks in quadratic time. The last two become marks under NFKC.
const longMarkRun = /([\p{M}\uff9e\uff9f]{30})(?=[\p{M}\uff9e\uff9f])/gu

/** Inserts a combining grapheme joiner after every 30th mark of a run, so that normalising takes linear time. */
export const withShortMarkRuns = (text: string): string => text.replace(longMarkRun, '$1\u034f')

/** Returns the text that is compared: well-formed, NFC, line feeds only, no white space at the end of a line or of the text. */
export const normalise = (text: string): string =>
  withShortMarkRuns(text.replace(/\p{Surrogate}/gu, '\ufffd'))
    .normalize('NFC')
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .trimEnd()

/** Counts the words of a normalised text. */
export const countTokens = (normalised: string): number =>
  normalised === '' ? 0 : normalised.split(/\s+/u).filter((word) => word !== '').length

/** Counts the units of a normalised text: four bytes of UTF-8 each. */
export const countUnits = (normalised: string): number =>
  Math.min(Math.ceil(utf8(normalised).length / 4), maxEvidenceCount)

/** The fields of evidence that shows nothing of a text but that it is the same. */
export const evidenceOfWhole = async (key: Bytes, normalised: string) => ({
  digest: await digestOf(key, normalised),
  tokens: Math.min(countTokens(normalised), maxEvidenceCount),
  units: countUnits(normalised),
})

/** HMAC-SHA256 of a normalised text in base64url. */
export const digestOf = async (key: Bytes, normalised: string): Promise<string> =>
  toBase64Url(await hmacSha256(key, utf8(normalised)))

/** True when two pieces of evidence are equal. */
export const sameEvidence = (a: Evidence, b: Evidence): boolean =>
  a.comparator === b.comparator &&
  a.digest === b.digest &&
  a.tokens === b.tokens &&
  a.units === b.units &&
  a.sketch === b.sketch

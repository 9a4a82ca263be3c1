import { z } from 'zod'
import { Base64Url, Base64Url32, ComparatorId } from '../codecs.ts'
import { named } from './named.ts'

/** The highest number of tokens, and of units, in evidence. Longer texts count as this many. */
export const maxEvidenceCount = 1_048_576

/** Shows what an answer is like without showing it. Keyed by the job's secret, so that only the quorum and the client can make it. */
export const Evidence = named('Evidence', {
  comparator: ComparatorId,
  /** HMAC-SHA256 over the normalised text. */
  digest: Base64Url32,
  /** What the comparator compares when the texts differ; `exact` has none. */
  sketch: Base64Url(2_048).optional(),
  /** Words of the normalised text, as the comparator counts them. */
  tokens: z.int().min(0).max(maxEvidenceCount),
  /** The size of the normalised text: one unit is four bytes of UTF-8, the last one perhaps fewer. */
  units: z.int().min(0).max(maxEvidenceCount),
})
export type Evidence = z.output<typeof Evidence>

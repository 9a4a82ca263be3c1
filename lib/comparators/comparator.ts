import type { ComparatorId } from '../codecs.ts'
import type { Evidence } from '../schemas/evidence.ts'

/** What two pieces of evidence say of their answers. */
type Comparison = 'match' | 'no-match' | 'inconclusive'

/** Makes evidence of an answer, and compares evidence without a key, so that the ICL can recompute every verdict. */
export interface Comparator {
  readonly id: ComparatorId
  /** Evidence of `text` under the job's evidence key. */
  evidenceOf(text: string, key: Uint8Array<ArrayBuffer>): Promise<Evidence>
  /** Undefined when the evidence has the form that this comparator makes, else what is wrong with it. */
  malformation(evidence: Evidence): string | undefined
  compare(a: Evidence, b: Evidence): Comparison
}

import type { ComparatorId } from '../codecs.ts'
import type { Evidence } from '../schemas/evidence.ts'

/** The result of comparing two pieces of evidence. */
type Comparison = 'match' | 'no-match' | 'inconclusive'

/** A comparison with its reason, for readers of a job. */
export type Explanation = {
  readonly outcome: Comparison
  readonly why: string
  /** The similarity by each feature, in thousandths; missing when nothing is estimated. */
  readonly similarities?: Readonly<Record<string, number>>
}

/** The inputs of evidence. */
export type EvidenceInput = {
  readonly text: string
  /** The decrypted prompt. An answer gets no credit for repeating it. */
  readonly prompt: string
  /** The job's evidence key, see `evidenceKey`. */
  readonly key: Uint8Array<ArrayBuffer>
}

/** Makes evidence of an answer, and compares evidence without a key, so that the ICL and any holder of a receipt can do it too. */
export interface Comparator {
  readonly id: ComparatorId
  /** True when `compare` may return `inconclusive`. Without that, an answer outside the agreement costs no score. */
  readonly canBeInconclusive: boolean
  /** Makes a text's evidence with the job's evidence key. */
  evidenceOf(input: EvidenceInput): Promise<Evidence>
  /** Says what is wrong with the form of evidence; undefined when this comparator can have made it. */
  malformation(evidence: Evidence): string | undefined
  /** Symmetric. Malformed evidence is a no-match, never an error. */
  compare(a: Evidence, b: Evidence): Comparison
  /** The result of `compare` with its reason. */
  explain(a: Evidence, b: Evidence): Explanation
  /** True when `shown`, made from a delivered text, reproduces the evidence `claimed` for it. */
  reproduces(shown: Evidence, claimed: Evidence): boolean
}

import type { ComparatorId } from '../codecs.ts'
import type { Evidence } from '../schemas/evidence.ts'

/** What two pieces of evidence say of their answers. */
type Comparison = 'match' | 'no-match' | 'inconclusive'

/** A comparison with its reason, for readers of a job. */
export type Explanation = {
  readonly outcome: Comparison
  readonly why: string
  /** How alike the answers are by each feature, in thousandths; missing where nothing is estimated. */
  readonly similarities?: Readonly<Record<string, number>>
}

/** What evidence is made from. */
export type EvidenceInput = {
  readonly text: string
  /** The decrypted prompt: repeating it is no answer. */
  readonly prompt: string
  /** The job's evidence key, see `evidenceKey`. */
  readonly key: Uint8Array<ArrayBuffer>
}

/** Makes evidence of an answer, and compares evidence without a key, so that the ICL can recompute every verdict. */
export interface Comparator {
  readonly id: ComparatorId
  /** Whether `compare` may say `inconclusive`: then one match accepts an answer that nobody is against (`accepts` in tally.ts). */
  readonly canBeInconclusive: boolean
  /** Evidence of a text under the job's evidence key. */
  evidenceOf(input: EvidenceInput): Promise<Evidence>
  /** Undefined when the evidence has the form that this comparator makes, else what is wrong with it. */
  malformation(evidence: Evidence): string | undefined
  /** The same both ways round; malformed evidence is a no-match, never an error. */
  compare(a: Evidence, b: Evidence): Comparison
  /** What `compare` says, with the reason. */
  explain(a: Evidence, b: Evidence): Explanation
  /** True when `shown`, made from a text that was delivered, bears out the evidence `claimed` for it. */
  reproduces(shown: Evidence, claimed: Evidence): boolean
}

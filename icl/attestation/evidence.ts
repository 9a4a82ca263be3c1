import type { CertificateAttestation } from '../records/icl-keys.ts'
import type { Enrollment } from '../rules/enrollment.ts'

/** What a node's evidence has proved. */
export type Proven = {
  /** What it proved, and what the session key has to sign as well. */
  readonly digest: Uint8Array
  /** What the certificate says of it. */
  readonly attestation: CertificateAttestation
  /** The highest tier that the node may serve by it. */
  readonly highestTier: number
  /** The TPM, with the counters of this quote; none for mock. */
  readonly enrollment?: Enrollment
  /** True when this quote completes an enrolment. */
  readonly isFirst?: boolean
}

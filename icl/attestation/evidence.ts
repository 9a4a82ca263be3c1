import type { CertificateAttestation } from '../records/icl-keys.ts'
import type { Enrollment } from '../rules/enrollment.ts'

/** What a node's evidence has proved. */
export type Proven = {
  /** The digest that the evidence proves. The session key has to sign it, too. */
  readonly digest: Uint8Array
  /** What the certificate says about the evidence. */
  readonly attestation: CertificateAttestation
  /** The highest tier that the evidence allows the node to serve. */
  readonly highestTier: number
  /** The TPM, with the counters of this quote; absent for mock. */
  readonly enrollment?: Enrollment
  /** True when this quote completes an enrolment. */
  readonly isFirst?: boolean
}

import type { z } from 'zod'
import type { AttestationBinding } from '../../lib/attestation.ts'
import type {
  AttestationRequest,
  Challenge,
  EnrollmentAnswer,
  EnrollmentRequest,
} from '../../lib/schemas/attestation.ts'
import type { AttestationBackend } from '../../lib/schemas/nodes.ts'

/** What happens while a node attests, in this order. */
export type AttestationStep =
  | { readonly kind: 'challenge'; readonly isEnrolled: boolean }
  /** The endorsement key's hash and the attestation key's name, in hex. */
  | { readonly kind: 'enrol'; readonly ek: string; readonly ak: string }
  | { readonly kind: 'activate' }
  | { readonly kind: 'quote'; readonly pcrs: readonly number[]; readonly resetCount: number }

/** What is to be proved, and what that takes from the ICL. */
export type ProofRequest = Omit<AttestationBinding, 'backend' | 'activationSecret' | 'nonce'> & {
  readonly challenge: z.output<typeof Challenge>
  /** The ICL has refused what it enrolled before. */
  readonly enrolsAgain: boolean
  /** Shows the ICL which TPM this is, under the challenge's nonce. */
  readonly enroll: (
    tpm: Omit<EnrollmentRequest, 'operator_address' | 'nonce'>,
  ) => Promise<z.output<typeof EnrollmentAnswer>>
  readonly note: (step: AttestationStep) => void
  readonly signal: AbortSignal
}

/** Evidence, and the nonce that it is made under. */
export type Proof = {
  readonly nonce: string
  /** What the evidence proves. */
  readonly digest: Uint8Array
  /** True when the evidence completes an enrolment. */
  readonly isEnrolment: boolean
  readonly evidence: AttestationRequest['evidence']
}

/** Proves a node's identity by one backend (spec 5). */
export interface Attestor {
  readonly backend: AttestationBackend
  /** Evidence of everything that the attestation binds; the backend's own part is filled in here. */
  prove(request: ProofRequest): Promise<Proof>
}

import type { z } from 'zod'
import type { AttestationBinding } from '../../lib/attestation.ts'
import type {
  AttestationRequest,
  Challenge,
  EnrollmentAnswer,
  EnrollmentRequest,
} from '../../lib/schemas/attestation.ts'
import type { AttestationBackend } from '../../lib/schemas/nodes.ts'

/** The steps of an attestation, in this order. */
export type AttestationStep =
  | { readonly kind: 'challenge'; readonly isEnrolled: boolean }
  /** The endorsement key's hash and the attestation key's name, in hex. */
  | { readonly kind: 'enrol'; readonly ek: string; readonly ak: string }
  | { readonly kind: 'activate' }
  | { readonly kind: 'quote'; readonly pcrs: readonly number[]; readonly resetCount: number }

/** What to prove, and what the proof needs of the ICL. */
export type ProofRequest = Omit<AttestationBinding, 'backend' | 'activationSecret' | 'nonce'> & {
  readonly challenge: z.output<typeof Challenge>
  /** Set when the ICL has refused what it enrolled before. */
  readonly enrolsAgain: boolean
  /** Enrols the TPM with the ICL, under the challenge's nonce. */
  readonly enroll: (
    tpm: Omit<EnrollmentRequest, 'operator_address' | 'nonce'>,
  ) => Promise<z.output<typeof EnrollmentAnswer>>
  readonly note: (step: AttestationStep) => void
  readonly signal: AbortSignal
}

/** Evidence, and the nonce that it is for. */
export type Proof = {
  readonly nonce: string
  /** What the evidence proves. */
  readonly digest: Uint8Array
  /** Whether the evidence completes an enrolment. */
  readonly isEnrolment: boolean
  readonly evidence: AttestationRequest['evidence']
}

/** Proves a node's identity with one backend (spec 5). */
export interface Attestor {
  readonly backend: AttestationBackend
  /** Makes evidence of everything that the attestation binds. The backend adds its own part. */
  prove(request: ProofRequest): Promise<Proof>
}

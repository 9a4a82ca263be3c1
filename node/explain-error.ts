import { ProblemError } from '../lib/problem.ts'
import type { ProblemCode } from '../lib/problem-codes.ts'
import { SvcError } from '../lib/svc-error.ts'

const remedies: Partial<Record<ProblemCode, string>> = {
  'attestation-backend-refused':
    "Set attestation_backend to one that the ICL lists in GET /v1/network, or ask the ICL's operator to accept this one.",
  'attestation-hmac-invalid':
    "Check SVC_MOCK_ATTESTATION_KEY: it has to be the mock key that the ICL's operator gave out.",
  'challenge-expired': 'Try again; if it stays, check that the clock of this machine is right.',
  'challenge-used': 'Try again: every attempt needs a new challenge.',
  'challenge-invalid': 'Try again: every attempt needs a new challenge.',
  'session-signature-invalid': 'Check that the keystore is the one of this operator address.',
  'signature-stale': 'Set the clock of this machine, for example with NTP.',
  'certificate-superseded':
    'Another machine attested with this wallet. Stop it, then run `svc-node attest` here.',
  'not-attested': 'Run `svc-node attest`.',
  'certificate-expired': 'Run `svc-node attest`.',
}

/** An error as the operator reads it: what went wrong, and what to do when we know. */
export type Explanation = { readonly message: string; readonly hint?: string | undefined }

/** Explains any error in words; stacks stay out. */
export function explainError(error: unknown): Explanation {
  if (error instanceof SvcError) return { message: error.message, hint: error.hint }
  if (error instanceof ProblemError) {
    return {
      message: `The ICL refused: ${error.message} (${error.code})`,
      hint: remedies[error.code],
    }
  }
  return { message: error instanceof Error ? error.message : String(error) }
}

/** An error in one piece, for a log line. */
export function errorText(error: unknown): string {
  const { message, hint } = explainError(error)
  return hint === undefined ? message : `${message}. ${hint}`.replace('.. ', '. ')
}

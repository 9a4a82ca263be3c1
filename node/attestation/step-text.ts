import type { AttestationStep } from './proof.ts'

/** Describes a step of the attestation, and what it proves, for `svc-node attest`. */
export function stepText(step: AttestationStep): string {
  switch (step.kind) {
    case 'challenge':
      return step.isEnrolled
        ? 'Challenge: a nonce for one use (300 s). The ICL knows a TPM of this address.'
        : 'Challenge: a nonce for one use (300 s). The ICL knows no TPM of this address yet.'
    case 'enrol':
      return `Enrol:     endorsement key ${short(step.ek)} with its certificate shows which TPM this is. Attestation key ${short(step.ak)} signs for it.`
    case 'activate':
      return "Activate:  the TPM opened the ICL's secret, which proves that both keys are in this one TPM."
    case 'quote':
      return `Quote:     registers ${step.pcrs.join(', ')}, signed with nonce, wallet and session key: what this machine has booted (start ${step.resetCount}).`
  }
}

const short = (hex: string): string => `${hex.slice(0, 16)}...`

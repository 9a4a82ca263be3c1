import { isCause, remedyFor } from '../causes.ts'
import { errorMessage } from '../error-message.ts'
import { oneLine } from '../printable.ts'
import { ProblemError } from '../problem.ts'
import type { ProblemCode } from '../problem-codes.ts'
import { SvcError } from '../svc-error.ts'
import { exitCodes } from './exit-code.ts'
import { Interrupted } from './stop-signals.ts'

const remedies: Partial<Record<ProblemCode, string>> = {
  'attestation-backend-refused':
    "Set attestation_backend to one that the ICL lists in GET /v1/network, or ask the ICL's operator to accept this one.",
  'attestation-hmac-invalid':
    "Check the mock attestation key (mock_attestation_key, SVC_MOCK_ATTESTATION_KEY): it has to be the one that the ICL's operator gave out.",
  'ek-chain-untrusted':
    "Ask the ICL's operator to trust this TPM's vendor. If the vendor has authorities in between, name their certificates in tpm_certificates (SVC_TPM_CERTIFICATES).",
  'tpm-model-refused': "Ask the ICL's operator which TPMs are accepted, or use another ICL.",
  'ek-taken':
    'Run `svc-node release` with the wallet that this TPM was enrolled with. If it is lost, ask the operator of the ICL.',
  'ek-revoked': "Ask the ICL's operator why.",
  'tpm-not-enrolled': 'Run `svc-node attest`.',
  'quote-counter-back': 'Run `svc-node attest`.',
  'pcr-policy-refused':
    "Compare what this machine boots with the ICL's policy (secure boot, firmware, kernel). Its operator knows which values are accepted.",
  'event-log-wrong':
    "The boot's event log does not lead to what the TPM holds. Restart the machine. If that does not help, use another kernel or firmware.",
  'challenge-expired': 'Try again. If it fails again, check the clock of this machine.',
  'challenge-used': 'Try again: every attempt needs a new challenge.',
  'challenge-invalid': 'Try again: every attempt needs a new challenge.',
  'session-signature-invalid': 'Check that the keystore is the one of this operator address.',
  'session-proof-invalid': 'Run `svc-node attest`.',
  'reading-key-invalid': 'Check that the keystore is the one of this operator address.',
  'session-key-taken': 'Delete the attestation record and run `svc-node attest`.',
  'signature-stale': 'Set the clock of this machine, for example with NTP.',
  'run-superseded':
    'One wallet runs one daemon. Leave this one stopped, or stop the other one and start this one again. A copy of a node needs a wallet of its own.',
  'run-conflict':
    'Find every daemon with this wallet, also the supervisor that starts it. Stop all but one, and start that one again.',
  'node-banned': "Ask the ICL's operator why, or use another ICL.",
  'rate-limited': 'Wait a minute: the ICL limits how often it can be asked.',
  'not-attested': 'Run `svc-node attest`.',
  'certificate-expired': 'Run `svc-node attest`.',
}

/** An error for the operator: what went wrong, and what to do if that is known. */
export type Explanation = { readonly message: string; readonly hint?: string | undefined }

/** Explains any error in words, without a stack. Only the lines of a list, which are indented, begin a line: no text from elsewhere does. */
export function explainError(error: unknown): Explanation {
  const { message, hint } = explanationOf(error)
  const lines = message.split(/\n(?= {2})/).map(oneLine)
  return { message: lines.join('\n'), hint: hint && oneLine(hint) }
}

/** An error with its hint as lines for people. */
export function errorLines(error: unknown): readonly string[] {
  const { message, hint } = explainError(error)
  return [...`error: ${message}`.split('\n'), ...(hint === undefined ? [] : [`hint: ${hint}`])]
}

function explanationOf(error: unknown): Explanation {
  if (error instanceof SvcError) return { message: error.message, hint: error.hint }
  if (error instanceof ProblemError) {
    return {
      message: `The ICL refused: ${error.message} (${error.code})`,
      hint: remedies[error.code] ?? causeHint(error.code),
    }
  }
  return { message: errorMessage(error) }
}

const causeHint = (code: string): string | undefined =>
  isCause(code) ? remedyFor('node operator', code) : undefined

/** An error with its hint as one text, for a log line. */
export function errorText(error: unknown): string {
  const { message, hint } = explainError(error)
  return hint === undefined ? message : `${message}. ${hint}`.replace('.. ', '. ')
}

const mistakes: readonly string[] = [
  ...['usage', 'prompt-empty', 'prompt-too-long', 'model-unknown', 'quota-refused'],
]

/** The exit code for a command that failed: 75 when the same command may succeed later, 2 for wrong input, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Interrupted) return error.exitCode
  if (error instanceof SvcError && mistakes.includes(error.code)) return exitCodes.usage
  if (error instanceof SvcError && error.code === 'output-unwritable')
    return exitCodes.outputUnwritable
  const known = error instanceof SvcError || error instanceof ProblemError
  return known && error.retryable ? exitCodes.tryAgain : exitCodes.operatorMustAct
}

import { ProblemError } from '../../lib/problem.ts'
import { AbortReason } from '../../lib/schemas/jobs.ts'
import { SvcError } from '../../lib/svc-error.ts'

const reasons: Readonly<Record<string, AbortReason>> = {
  'coprocessor-access-denied': 'fhe-decrypt-denied',
  'coprocessor-ciphertext-unknown': 'fhe-decrypt-denied',
  'coprocessor-too-many-requests': 'chain-rate-limited',
  'coprocessor-encrypt-failed': 'encryption-failed',
  'coprocessor-permit-invalid': 'coprocessor-unavailable',
  'chain-too-many-requests': 'chain-rate-limited',
  'chain-unavailable': 'node-chain-unavailable',
  'chain-rpc-failed': 'node-chain-unavailable',
  'chain-behind': 'node-chain-unavailable',
  'chain-fees-too-low': 'node-chain-unavailable',
  'chain-wallet-empty': 'wallet-empty',
  'blob-unreadable': 'prompt-unreadable',
}

/** Returns the abort reason of the protocol for an error, `node-failed` for an unexpected one (spec 7). */
export function abortReasonOf(error: unknown): AbortReason {
  if (!(error instanceof SvcError)) return 'node-failed'
  const parsed = AbortReason.safeParse(error.code)
  return parsed.success ? parsed.data : (reasons[error.code] ?? 'node-failed')
}

const gone: readonly string[] = [
  'stale-fence',
  'job-settled',
  'job-not-found',
  'not-assigned',
  'not-claimed',
  'not-committed',
]

/** True when the ICL has taken the assignment away or the job is over. The node has nothing left to do or to give back. */
export const isGone = (error: unknown): boolean =>
  error instanceof ProblemError && gone.includes(error.code)

/** True when the ICL is away or busy. False when the chain or the coprocessor is away, which is this node's own failure. */
export const isIclAway = (error: unknown): boolean =>
  isPassing(error) && (!(error instanceof SvcError) || error.code.startsWith('icl-'))

/** True when the same call may succeed later: the ICL is away, busy, or does not accept the certificate now. */
export const isPassing = (error: unknown): boolean =>
  (error instanceof ProblemError && (error.retryable || error.status === 401)) ||
  (error instanceof SvcError && error.retryable)
